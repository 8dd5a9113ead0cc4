"""What a launch needs around it: folders, a lock, and a recorder that stays alive."""

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sweeps.execution.recorder.client import RecorderClient
from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import FileLock
from sweeps.storage.locations import Storage, resolve_storage, resolve_tracking_uri
from sweeps.storage.store_format import refuse_newer_format
from sweeps.tracking.addresses import refuse_unusable, sqlite_path

_WATCH_SECONDS = 5.0


@contextmanager
def only_driver(sweep: str, storage: Storage) -> Generator[None]:
    """Be the one process that runs a sweep while the block lasts.

    Raises:
        BadInput: If another one is.
    """
    with FileLock(storage.journals / f"{sweep}.lock") as lock:
        if not lock.acquire():
            raise BadInput(
                f"The sweep '{sweep}' is being run already by another process over "
                f"{storage.root}: wait for it to end, or give this one a --name of its own."
            )
        yield


def usable_places(
    storage_folder: str | Path | None, tracking_uri: str | None
) -> tuple[Storage, str]:
    """Return where a launch stores and records what it trains.

    Raises:
        BadInput: If the storage folder cannot be written to, a later release has written it, or the
            tracking store can be none.
    """
    storage = resolve_storage(storage_folder)
    refuse_unwritable(storage.root, "storage")
    refuse_newer_format(storage)
    address = resolve_tracking_uri(tracking_uri, storage.root)
    refuse_unusable(address)
    database = sqlite_path(address)
    if database and database.parent != storage.root:
        if not database.parent.is_dir():
            raise BadInput(
                f"The tracking store {database} cannot be made, as the folder {database.parent} is "
                f"not there: make it, or name another place, --tracking-uri."
            )
        refuse_unwritable(database.parent, "tracking store's")
    return storage, address


def refuse_unwritable(folder: Path, what: str) -> None:
    """Refuse a folder that cannot be made or written to.

    Raises:
        BadInput: Naming the folder.
    """
    folder = folder.absolute()
    try:
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        is_folder = existing.is_dir()
        why = f"{existing} is {'read-only' if is_folder else 'no folder'}"
        is_writable = is_folder and os.access(existing, os.W_OK | os.X_OK)
    except OSError as error:  # a name too long, or a folder that may not be looked into
        is_writable, why = False, str(error.strerror)
    if not is_writable:
        raise BadInput(f"The {what} folder {folder} cannot be written to ({why}): choose another.")


def make_folders(storage: Storage) -> None:
    """Make the storage's folders.

    Raises:
        BadInput: If they cannot be written to.
    """
    try:
        for folder in (storage.cells, storage.journals, storage.artifacts, storage.logs):
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"The storage folder {storage.root} cannot be written to ({error.strerror}): choose "
            f"another, --storage."
        ) from error


@contextmanager
def kept_alive(recorder: RecorderClient) -> Generator[None]:
    """Start the recorder again whenever it dies."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_WATCH_SECONDS):
            recorder.keep_alive()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
