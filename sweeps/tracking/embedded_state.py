"""Whether an embedded store may have changed since somebody read it."""

from sweeps.storage.file_state import state_of
from sweeps.storage.locations import resolve_storage, resolve_tracking_uri
from sweeps.tracking.addresses import sqlite_path
from sweeps.tracking.mlflow.artifacts import REPORT_FOLDER


def embedded_state(tracking_uri: str | None, storage: str | None) -> str | None:
    """Return what is equal only where an embedded store holds what it held, but for reports.

    Args:
        tracking_uri: As of `open_store`.
        storage: The same.

    Returns:
        None for other stores, and where something has changed within the last seconds.

    Raises:
        BadInput: If the folder cannot hold a store.
    """
    database = sqlite_path(resolve_tracking_uri(tracking_uri, storage))
    if database is None:
        return None
    beside = [database.with_name(database.name + ending) for ending in ("-journal", "-wal")]
    artifacts = dict.fromkeys((resolve_storage(storage).artifacts, database.parent / "artifacts"))
    return state_of([database, *beside, *artifacts], {REPORT_FOLDER})
