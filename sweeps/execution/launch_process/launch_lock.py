"""The lock of a launch: one process runs a sweep, and says in the lock which one it is.

A lock dies with its process, but its text stays, and the system may reuse the process number. So
the text counts only while the lock is held, on the machine that it names, and for the process that
started when it says.

The folders of a launch are checked before anything is written. Some errors appear only after a
cluster was joined or a store opened, for which folders and lock have to exist: a launch
that is refused so late removes what it made.
"""

import os
import platform
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

import psutil
from pydantic import BaseModel, ConfigDict, ValidationError

from sweeps.execution.interruption import in_main_thread
from sweeps.execution.sweep_log import locked_names
from sweeps.records.errors import BadInput, SweepError
from sweeps.storage.file_lock import FileLock, read_lock
from sweeps.storage.folder import Folder, folder_of, in_storage
from sweeps.storage.locations import Storage, resolve_storage, resolve_tracking_uri
from sweeps.storage.store_format import check_format, write_format
from sweeps.tracking.addresses import check_address, sqlite_path
from sweeps.tracking.validation import valid_names

_MOST_BYTES = 1000
_REFUSALS = (SweepError, KeyboardInterrupt)
_CLOCK_SECONDS = 2.0  # by which a clock that is set meanwhile may move a process's start


class LaunchProcess(BaseModel):
    """The process that runs a launch.

    Attributes:
        host: The name of its machine.
        pid: Its number there.
        started: When the process started, seconds since 1970.
        hears_signals: Whether signals interrupt the launch: only in a process's main thread.
        release: Of capsweep that it runs, "" of one that did not say.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")  # a later release may say more

    host: str
    pid: int
    started: float
    hears_signals: bool
    release: str = ""

    @property
    def is_of_this_host(self) -> bool:
        """Whether it runs on this machine."""
        return self.host == platform.node()

    def find(self) -> psutil.Process | None:
        """Return the process itself, None if it has ended. Works on its own host only."""
        try:
            process = psutil.Process(self.pid)
        except (psutil.NoSuchProcess, ValueError, OverflowError):
            return None
        is_it = abs(process.create_time() - self.started) <= _CLOCK_SECONDS
        return process if is_it else None


@contextmanager
def process_noted(lock: FileLock) -> Generator[None]:
    """Write this process into its lock while the block runs."""
    process = psutil.Process()
    note = LaunchProcess(
        host=platform.node(),
        pid=process.pid,
        started=process.create_time(),
        hears_signals=in_main_thread(),
        release=version("capsweep"),
    )
    with suppress(OSError):  # a full disk: then it can be stopped by Ctrl-C alone
        os.ftruncate(lock.descriptor, 0)
        os.pwrite(lock.descriptor, note.model_dump_json().encode(), 0)
    try:
        yield
    finally:
        with suppress(OSError):
            os.ftruncate(lock.descriptor, 0)


def process_of(journals: Path, sweep: str) -> LaunchProcess | None:
    """Return the process that a lock names, None if there is none or it is unreadable."""
    try:
        note = read_lock(in_storage(journals), f"{sweep}.lock", _MOST_BYTES)
        return LaunchProcess.model_validate_json(note)
    except (OSError, ValidationError, ValueError):
        return None


def running_sweeps(journals: Path) -> set[str]:
    """Return the sweeps that a launch runs over a journals' folder, also those that begin."""
    return {name for name in valid_names(locked_names(journals)) if process_of(journals, name)}


@contextmanager
def sole_launch(sweep: str, storage: Storage) -> Generator[None]:
    """Make a launch's folders and lock the sweep; if it is refused, leave only what was logged.

    What other launches over the same folders use stays. An interruption before anything is trained
    counts as a refusal.

    Args:
        sweep: Its name.
        storage: Where it trains.

    Raises:
        BadInput: If another process runs it, or the folders are not writable.
    """
    files = [storage.journals / f"{sweep}.{end}" for end in ("jsonl", "lock")]
    files += [storage.logs / f"{sweep}.log"]
    if not storage.journals.exists():
        files += [storage.root / "format.json"]
    new = [path for path in files if not os.path.lexists(path)]
    folders = [path for path in _folders(storage) if not path.exists()]
    try:
        make_folders(storage)
        with sweep_lock(sweep, storage) as lock:
            make_folders(storage)  # again: a launch that was refused meanwhile may have removed it
            with _unlinked_if_refused(new, storage, lock), process_noted(lock):
                yield
    except _REFUSALS:
        for folder in folders:
            with suppress(OSError):  # somebody has put something there
                folder.rmdir()
        raise


@contextmanager
def _unlinked_if_refused(files: list[Path], storage: Storage, lock: FileLock) -> Generator[None]:
    try:
        yield
    except _REFUSALS:
        others = [path for path in storage.journals.glob("*.lock") if path != lock.path]
        is_used = bool(others) or any(storage.cells.glob("*"))
        for path in files:
            is_shared = path.parent == storage.root
            has_text = path.suffix == ".log" and _has_content(path)  # the error may name the log
            has_trained = path != lock.path and any(storage.cells.glob("*"))
            if not (is_shared and is_used) and not has_text and not has_trained:
                folder_of(path, storage.root).remove(path.name)
        raise


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _folders(storage: Storage) -> tuple[Path, ...]:
    """Return the folders that a launch makes, inner ones first."""
    inner = (storage.cells, storage.journals, storage.artifacts, storage.logs)
    return (*inner, storage.root, *storage.root.parents)


@contextmanager
def sweep_lock(sweep: str, storage: Storage) -> Generator[FileLock]:
    """Lock a sweep while the block runs, so that no other process runs it. Yields the lock.

    Raises:
        BadInput: If another process holds the lock.
    """
    with FileLock(in_storage(storage.journals), f"{sweep}.lock") as lock:
        if not lock.acquire():
            other = _other_release(process_of(storage.journals, sweep))
            raise BadInput(
                f"The sweep '{sweep}' is being run already by another process{other} over "
                f"{storage.root}: wait for it to end, or give this one a --name of its own."
            )
        yield lock


def _other_release(process: LaunchProcess | None) -> str:
    """Return which release of capsweep a process runs, "" if it is this one or not known."""
    here = version("capsweep")
    if process is None or process.release == here:
        return ""
    release = f"capsweep {process.release}" if process.release else "an earlier capsweep"
    return f", which runs {release} (this is {here}),"


def readable_places(
    storage_folder: str | Path | None, tracking_uri: str | None
) -> tuple[Storage, str]:
    """Return the storage folder and the tracking store's address; check that they can be read.

    Raises:
        BadInput: If the storage folder has another format, or the address is not valid.
    """
    storage = resolve_storage(storage_folder)
    _check_folder(storage.root, "storage")
    check_format(storage)
    address = resolve_tracking_uri(tracking_uri, storage.root)
    check_address(address)
    database = sqlite_path(address)
    if database and database.parent != storage.root and not database.parent.is_dir():
        raise BadInput(
            f"The tracking store {database} cannot be made, as the folder {database.parent} "
            f"does not exist: make it, or name another place, --tracking-uri."
        )
    return storage, address


def usable_places(
    storage_folder: str | Path | None, tracking_uri: str | None
) -> tuple[Storage, str]:
    """Return the same for a launch, which writes there.

    Raises:
        BadInput: If one is not writable, or as `readable_places` does.
    """
    check_writable(resolve_storage(storage_folder).root, "storage")
    storage, address = readable_places(storage_folder, tracking_uri)
    check_places(storage, address)
    return storage, address


def check_places(storage: Storage, address: str) -> None:
    """Check that a launch can write to its places.

    Raises:
        BadInput: If one is not writable, or everybody may write where the database is to lie.
    """
    check_writable(storage.root, "storage")
    database = sqlite_path(address)
    if database and database.parent != storage.root:
        check_writable(database.parent, "tracking store's")
    if database:
        Folder(database.parent).check_closed()  # before anything is made


def existing_places(
    storage_folder: str | Path | None, tracking_uri: str | None, *, is_writing: bool = True
) -> tuple[Storage, str]:
    """Return the same for a storage folder that has to exist.

    Args:
        storage_folder: As of `usable_places`, like `tracking_uri`.
        tracking_uri: The tracking store.
        is_writing: Whether they have to be writable.

    Raises:
        BadInput: If it does not exist, or as `usable_places` does.
    """
    places = usable_places if is_writing else readable_places
    storage, address = places(storage_folder, tracking_uri)
    if not storage.root.is_dir():
        raise BadInput(f"There is no storage folder {storage.root}: name it with --storage.")
    return storage, address


def check_writable(folder: Path, purpose: str) -> None:
    """Check that a folder exists or can be made, and is writable.

    Raises:
        BadInput: If not; it names the folder.
    """
    existing = _check_folder(folder, purpose)
    if not os.access(existing, os.W_OK | os.X_OK):
        raise _unwritable(folder, purpose, f"{existing} is read-only")


def _check_folder(folder: Path, purpose: str) -> Path:
    """Return a folder or the nearest one above it that exists.

    Raises:
        BadInput: If no folder can be there.
    """
    folder = folder.absolute()
    try:
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        if existing.is_dir():
            return existing
    except OSError as error:  # a name too long, or a folder that may not be looked into
        raise _unwritable(folder, purpose, str(error.strerror)) from error
    raise _unwritable(folder, purpose, f"{existing} is no folder")


def _unwritable(folder: Path, purpose: str, why: str) -> BadInput:
    option = {"storage": "--storage", "report": "--reports"}.get(purpose, "--tracking-uri")
    return BadInput(
        f"The {purpose} folder {folder.absolute()} cannot be written to ({why}): choose another, "
        f"{option}."
    )


def make_folders(storage: Storage) -> None:
    """Make the folders of a storage, and write its format first.

    Raises:
        BadInput: If they cannot be made.
    """
    try:
        Folder(storage.root).make()
        write_format(storage)
        for folder in (storage.cells, storage.journals, storage.artifacts, storage.logs):
            in_storage(folder).make()
    except OSError as error:
        raise BadInput(
            f"The storage folder {storage.root} cannot be written to ({error.strerror}): choose "
            f"another, --storage."
        ) from error
