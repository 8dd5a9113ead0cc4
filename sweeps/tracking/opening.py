"""The one way from an address to a tracking store."""

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
    """Return the store that is meant: given, from the environment, or the embedded default.

    Nothing is created, and no store is looked at, before it is asked.

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
    """Return the store for who makes tables of it: what a server told once is not asked again.

    Args:
        store: As `open_store` takes it, as is `storage`.
        storage: The folder of the embedded store.

    Raises:
        BadInput: As `open_store` does.
    """
    opened = open_store(store, storage)
    if opened is store or not isinstance(opened, MlflowStore):
        return opened
    return MlflowStore(opened.address, resolve_storage(storage).artifacts, caches=True)


def load_writer(store: RecordStore) -> None:
    """Load in a thread what writing to a store takes: MLflow takes two seconds."""
    if isinstance(store, MlflowStore):
        Thread(target=import_module, args=(_WRITER,), daemon=True).start()
