"""What a launch needs around it: folders, a lock, and a look now and then.

What can be refused is refused before anything is written. Some is known only when a cluster has
been joined or a store opened, for which folders, a lock and a journal have to be there: a launch
that is refused so late takes back its traces.
"""

import logging
import os
import socket
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from sweeps.execution.driver.from_elsewhere.launch_process import noted_in
from sweeps.execution.periodic import every
from sweeps.records.errors import BadInput, SweepError
from sweeps.storage.file_lock import FileLock
from sweeps.storage.locations import Storage, resolve_storage, resolve_tracking_uri
from sweeps.storage.store_format import refuse_newer_format
from sweeps.tracking.addresses import refuse_unusable, sqlite_path

_LOG = logging.getLogger(__name__)
_WATCH_SECONDS = 5.0
_PATIENCE_SECONDS = 4.0
_CLIENT_PORT = 10001
_FOUND_BY_RAY = {"auto", "local"}


@contextmanager
def sole_launch(sweep: str, storage: Storage) -> Generator[None]:
    """Make a launch's folders and be its one driver; take back what is empty if it is refused.

    Args:
        sweep: Its name.
        storage: Where it trains.

    Raises:
        BadInput: If another process is its driver, or the folders cannot be written to.
    """
    own = [storage.journals / f"{sweep}.{end}" for end in ("db", "db-journal")]
    own += [storage.logs / f"{sweep}.log"]
    if not storage.journals.exists():
        own += [storage.journals / f"{sweep}.lock", storage.root / "format.json"]
        own += [storage.root / "format.json.lock"]
    new = [path for path in own if not path.exists()]
    folders = [path for path in _folders(storage) if not path.exists()]
    try:
        make_folders(storage)
        with (
            only_driver(sweep, storage) as lock,
            _unlinked_if_refused(new, storage),
            noted_in(lock),
        ):
            yield
    except SweepError:
        for folder in folders:
            with suppress(OSError):  # somebody has put something there
                folder.rmdir()
        raise


@contextmanager
def _unlinked_if_refused(files: list[Path], storage: Storage) -> Generator[None]:
    try:
        yield
    except SweepError:
        if not any(storage.cells.iterdir()):  # else a journal may tell of what was trained
            for path in files:
                path.unlink(missing_ok=True)
        raise


def _folders(storage: Storage) -> tuple[Path, ...]:
    """Return the folders that a launch makes, the inner ones first."""
    inner = (storage.cells, storage.journals, storage.artifacts, storage.logs)
    return (*inner, storage.root, *storage.root.parents)


@contextmanager
def only_driver(sweep: str, storage: Storage) -> Generator[FileLock]:
    """Be the one process that runs a sweep while the block lasts. Yields the lock that says so.

    Raises:
        BadInput: If another one is.
    """
    with FileLock(storage.journals / f"{sweep}.lock") as lock:
        if not lock.acquire():
            raise BadInput(
                f"The sweep '{sweep}' is being run already by another process over "
                f"{storage.root}: wait for it to end, or give this one a --name of its own."
            )
        yield lock


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


def existing_places(
    storage_folder: str | Path | None, tracking_uri: str | None
) -> tuple[Storage, str]:
    """Return the same where there has to be a storage folder already.

    Raises:
        BadInput: If there is none, or as `usable_places` does.
    """
    storage, address = usable_places(storage_folder, tracking_uri)
    if not storage.root.is_dir():
        raise BadInput(f"There is no storage folder {storage.root}: name it with --storage.")
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


def looked_after(*looks: Callable[[], None]) -> AbstractContextManager[None]:
    """Have a look at this and that every few seconds while the block runs.

    One that fails, as a network disk does at times, is logged and made again.
    """

    def look_at_all() -> None:
        for look in looks:
            try:
                look()
            except OSError as error:
                _LOG.warning("will look again: %s", error)

    return every(_WATCH_SECONDS, look_at_all)


def refuse_absent_cluster(address: str) -> None:
    """Return if somebody listens at the address of a Ray cluster, or only Ray can tell.

    Raises:
        BadInput: If it is no address, or nobody does.
    """
    if address in _FOUND_BY_RAY:
        return
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        port = parts.port or (_CLIENT_PORT if parts.scheme == "ray" else None)
        host = parts.hostname if parts.scheme in {"", "ray"} else None
    except ValueError:
        host, port = None, None
    if not host or not port:
        raise BadInput(
            f"'{address}' is no address of a Ray cluster: give HOST:PORT, ray://HOST:PORT or auto, "
            f"or leave it out to start Ray here."
        )
    try:
        socket.create_connection((host, port), timeout=_PATIENCE_SECONDS).close()
    except (OSError, UnicodeError) as error:
        raise BadInput(
            f"No Ray cluster at {address} answers ({error}): start it, or leave --address out to "
            f"start Ray here."
        ) from error
