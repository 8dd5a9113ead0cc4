"""Opens the tracking store of an address."""

from importlib import import_module
from pathlib import Path
from threading import Thread

from sweeps.storage.locations import resolve_storage, resolve_tracking_uri
from sweeps.storage.store_format import check_format
from sweeps.tracking.addresses import check_address
from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from sweeps.tracking.store import RecordStore

_WRITER = "sweeps.tracking.mlflow.mlflow_writer"


def open_store(
    store: str | RecordStore | None = None, storage: str | Path | None = None
) -> RecordStore:
    """Return a store: the given one, the environment's, or the embedded default.

    Nothing is created or contacted before the first question.

    Args:
        store: An address, or a store, which is returned as it is.
        storage: The folder of the embedded store, and of the artifacts of a store without any.

    Raises:
        BadInput: If the folder cannot hold a store or has another format, or the address is that
            of no store.
    """
    if store is None or isinstance(store, str):
        place = resolve_storage(storage)
        check_format(place)
        address = resolve_tracking_uri(store, storage)
        check_address(address)
        return MlflowStore(address, place.artifacts)
    return store


def open_to_read(
    store: str | RecordStore | None = None, storage: str | Path | None = None
) -> RecordStore:
    """Return the store for readers: final records of a server are cached.

    Args:
        store: As in `open_store`, like `storage`.
        storage: The folder of the embedded store.

    Raises:
        BadInput: As `open_store` does.
    """
    opened = open_store(store, storage)
    if opened is store or not isinstance(opened, MlflowStore):
        return opened
    return MlflowStore(opened.address, resolve_storage(storage).artifacts, caches=True)


def load_writer(store: RecordStore) -> None:
    """Import MLflow in a thread, for a store that will be written to: it takes two seconds."""
    if isinstance(store, MlflowStore):
        Thread(target=import_module, args=(_WRITER,), daemon=True).start()
