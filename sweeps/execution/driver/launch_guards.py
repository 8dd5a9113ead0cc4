"""What a launch needs around it: folders, a lock, and a recorder that stays alive."""

import threading
from collections.abc import Generator
from contextlib import contextmanager

from sweeps.execution.recorder.client import RecorderClient
from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import FileLock
from sweeps.storage.locations import Storage

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
