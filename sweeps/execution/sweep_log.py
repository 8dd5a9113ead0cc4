"""The log of a sweep as a file of the storage folder, and what folders and store know of sweeps.

Only the process that holds the sweep's lock writes. A decision is on disk before it takes effect,
so that a driver may die between any two of them, and no decision is made a second time. The
recorder copies definition and decisions to the tracking store now and then and at the end, so the
store lags behind by seconds, and a storage folder that has lost the log gets it back from there.

    journals/SWEEP.jsonl    one line for each entry
"""

import errno
import os
import threading
import time
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from search_spaces.plans.known import known_after
from sweeps.records.errors import BadInput
from sweeps.records.launch_command import command_arguments
from sweeps.records.manifest import Manifest
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.records.sweep_log import (
    Decided,
    Declared,
    Entry,
    LaunchEnded,
    LaunchStarted,
    LogLines,
    TrialNoted,
    decisions_under,
    declared_last,
    intact_part,
    line_of,
    manifest_of,
    starts_of,
    text_of,
)
from sweeps.storage.disk_room import retry_when_full
from sweeps.storage.file_lock import is_locked
from sweeps.storage.folder import in_storage, read_descriptor
from sweeps.storage.locations import Storage
from sweeps.storage.sqlite_file import archive_copy, archive_file
from sweeps.tracking.addresses import public
from sweeps.tracking.store import RecordStore
from sweeps.tracking.validation import first_error, unknown_sweep, valid_names

ENDING = ".jsonl"
DISPATCHED = "dispatched"
"""What is noted of a trial that waits for a process."""
MOST_BYTES = 2**28
"""What is read of a log at most."""


def log_path(journals: Path, sweep: str) -> Path:
    """Return where the log of a sweep lies."""
    return journals / f"{sweep}{ENDING}"


class SweepLog:
    """The log of a sweep, open to be written by the one process that holds the sweep's lock.

    The file is made with the first entry. A torn last line is cut off before that.

    Args:
        journals: The folder of the logs.
        sweep: Name of the sweep.
    """

    def __init__(self, journals: Path, sweep: str) -> None:
        self._path = log_path(journals, sweep)
        self._sweep = sweep
        self._descriptor: int | None = None
        self._lock = threading.Lock()  # the live view notes from other threads
        self._is_launched = False
        self._written = set[int]()

    def lines_to_declare(
        self, declared: Declared, decisions: Sequence[Decided] = (), num_starts: int = 0
    ) -> bytes:
        """Return the lines by which the log says what a launch starts from; none if it says it.

        Args:
            declared: The sweep as the launch declares it.
            decisions: The decisions of its plan. Where the log has others, it starts over with
                these: the tracking store's count.
            num_starts: How often the plan has started over, by whichever log.

        Raises:
            BadInput: If the log is damaged.
        """
        entries, plan = self.entries(), declared.manifest.decided_by
        before, known = declared_last(entries), decisions_under(plan, entries)
        self._written = {_content(entry) for entry in decisions}
        num_missing = num_starts - starts_of(plan, entries)
        if num_missing <= 0 and known != [*decisions[: len(known)]]:
            num_missing = 1
        if num_missing > 0:
            anew = declared.model_copy(update={"starts_over": True})
            return text_of([*[anew] * num_missing, *decisions])
        plain = before and before.model_copy(update={"starts_over": False})
        is_same = plain is not None and line_of(plain) == line_of(declared)
        return text_of([*([] if is_same else [declared]), *decisions[len(known) :]])

    def declare(
        self, declared: Declared, decisions: Sequence[Decided] = (), num_starts: int = 0
    ) -> None:
        """Write what a launch starts from, as far as the log does not say it already.

        The arguments are those of `lines_to_declare`.

        Raises:
            BadInput: If the log is damaged.
        """
        self.write(self.lines_to_declare(declared, decisions, num_starts))

    def write(self, lines: bytes) -> None:
        """Write lines; on disk when this returns."""
        if lines:
            self._write(lines, is_synced=True)

    def append(self, entry: Decided) -> None:
        """Write a decision before it takes effect; on disk when this returns.

        Where the disk is full it waits for room. One that is there already changes nothing and is
        not written, but for selections, which may be taken back and made again.
        """
        if entry.kind in {"select", "unselect"} or _content(entry) not in self._written:
            self._write(line_of(entry), is_synced=True)
            self._written.add(_content(entry))

    def start_launch(self, num_cells: int) -> None:
        """Note that a launch starts."""
        self._is_launched = True
        arguments = tuple(map(public, command_arguments()))
        started = LaunchStarted(
            at=time.time(),
            num_cells=num_cells,
            words=arguments,
            folder=_folder() if arguments else "",
        )
        self._write(line_of(started), is_synced=True)

    def end_launch(self, exit_code: int) -> None:
        """Note how the launch ended, if one was started."""
        if self._is_launched:
            self._write(line_of(LaunchEnded(at=time.time(), exit_code=exit_code)), is_synced=True)

    def note(self, trial_key: str, event: str, detail: str = "") -> None:
        """Note what happened to a trial."""
        entry = TrialNoted(at=time.time(), trial_key=trial_key, event=event, detail=detail)
        self._write(line_of(entry), is_synced=False)

    def entries(self) -> list[Entry]:
        """Return all entries, none if there is no log.

        Raises:
            BadInput: If the log is damaged.
        """
        return stored_entries(self._path.parent, self._sweep)

    def shared(self) -> bytes:
        """Return the lines that the tracking store holds too.

        Raises:
            BadInput: If the log is damaged.
        """
        return _lines(self._path, self._sweep).shared()

    def _write(self, lines: bytes, *, is_synced: bool) -> None:
        with self._lock:
            retry_when_full(lambda: self._append(lines, is_synced=is_synced), self._path.parent)

    def _append(self, lines: bytes, *, is_synced: bool) -> None:
        if self._descriptor is None:
            self._descriptor = self._opened()
        size = os.fstat(self._descriptor).st_size
        if os.write(self._descriptor, lines) != len(lines):
            os.ftruncate(self._descriptor, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if is_synced:
            os.fsync(self._descriptor)

    def _opened(self) -> int:
        """Open the file without a torn last line; it is closed with the last use of the log."""
        num_bytes = _lines(self._path, self._sweep).num_bytes
        folder = in_storage(self._path.parent).make()
        descriptor = folder.open(self._path.name, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        weakref.finalize(self, os.close, descriptor)
        os.ftruncate(descriptor, num_bytes)
        return descriptor


def write_log(journals: Path, sweep: str, entries: Iterable[Entry]) -> None:
    """Write a log whole, in place of the one that is there."""
    in_storage(journals).make().write(log_path(journals, sweep).name, text_of(entries))


def stored_entries(journals: Path, sweep: str) -> list[Entry]:
    """Return the entries of a sweep's log, none if there is no log.

    Raises:
        BadInput: If it is damaged, or another sweep's.
    """
    path = log_path(journals, sweep)
    entries = _valid(_lines(path, sweep), path, sweep)
    declared = declared_last(entries)
    if declared and declared.manifest.sweep != sweep:
        raise BadInput(f"{path} is the log of the sweep '{declared.manifest.sweep}': move it away.")
    return entries


def repair_log(path: Path) -> str:
    """Archive a damaged log, and keep its lines before the damage.

    Returns:
        What was done, in a sentence; "" for a log that is not damaged.
    """
    folder = in_storage(path.parent)
    content = folder.read(path.name, MOST_BYTES)
    try:
        manifest_of(LogLines(content).entries())
    except (ValueError, RecursionError) as error:
        intact = intact_part(content)
        aside = (
            archive_copy(folder, path.name, content) if intact else archive_file(folder, path.name)
        )
        if intact:
            folder.write(path.name, intact)
        num_kept = intact.count(b"\n")
        kept = f"its {num_kept} lines before that were kept" if intact else "nothing is left"
        return f"{path} was damaged ({_reason(error)}): archived as {aside.name}, {kept}."
    return ""


def stored_manifest(journals: Path, sweep: str) -> Manifest | None:
    """Return the manifest of a sweep by its log; None if that is missing or damaged."""
    try:
        return manifest_of(stored_entries(journals, sweep))
    except (OSError, BadInput, ValueError):
        return None


def stored_sweeps(journals: Path) -> set[str]:
    """Return the sweeps that have a log, also those with a damaged one.

    A file with a name that no sweep can have, or with the log of another sweep, is somebody's copy
    and does not count.
    """
    names = valid_names(path.name.removesuffix(ENDING) for path in journals.glob(f"*{ENDING}"))
    return {name for name in names if not _is_of_another(journals, name)}


def known_sweeps(sweep: str | None, storage: Storage, store: RecordStore) -> list[str]:
    """Return the names of all sweeps, by their logs and by records.

    Args:
        sweep: A name that has to be among them.
        storage: Storage folder of the logs.
        store: The tracking store.

    Raises:
        BadInput: If it is not.
        StoreUnreachable: If the store does not answer.
    """
    known = stored_sweeps(storage.journals) | set(store.sweeps() if store.exists() else ())
    if sweep is not None and sweep not in known:
        raise unknown_sweep(sweep, sorted(known), store.address)
    return sorted(known)


@dataclass(frozen=True)
class EarlierLog:
    """What earlier launches of a sweep have left.

    Attributes:
        here: Entries of the log in the storage folder.
        stored: Those of the log in the tracking store: it lags behind, or a launch from another
            storage folder has gone further.
    """

    here: Sequence[Entry]
    stored: Sequence[Entry]

    @cached_property
    def manifest(self) -> Manifest | None:
        """The sweep's manifest: by the tracking store if that has one. None for a new sweep.

        Raises:
            BadInput: If the entries do not fit together.
        """
        try:
            return manifest_of(self.stored) or manifest_of(self.here)
        except ValidationError as error:
            raise BadInput(f"The log of the sweep is not valid: {first_error(error)}") from error

    @property
    def is_empty(self) -> bool:
        """Whether neither has any entry."""
        return not self.here and not self.stored

    def num_starts(self, plan: str | None) -> int:
        """Return how often a plan has started over."""
        return max(starts_of(plan, self.here), starts_of(plan, self.stored))

    def decisions(self, plan: str | None) -> list[Decided]:
        """Return the decisions in force of a plan.

        One log is usually the beginning of the other. Where a plan has started over in one alone,
        that one counts. Where both have parted, the store's decisions count, as others see them;
        proposals and verdicts of this folder follow, but nothing that rests on all of them.
        """
        here, stored = (decisions_under(plan, entries) for entries in (self.here, self.stored))
        starts_here, starts_stored = (
            starts_of(plan, entries) for entries in (self.here, self.stored)
        )
        if starts_here != starts_stored:
            return here if starts_here > starts_stored else stored
        if here[: len(stored)] == stored:
            return here
        if stored[: len(here)] == here:
            return stored
        known, on_all = {entry.subject for entry in stored}, {"select", "unselect", "done"}
        more = (entry for entry in here if entry.kind not in on_all and entry.subject not in known)
        return [*stored, *more]


class LogReader:
    """What a driver has written to the log of its sweep, for the tracking store.

    Args:
        journals: The folder of the logs.
        sweep: Name of the sweep.
    """

    def __init__(self, journals: Path, sweep: str) -> None:
        self._path = log_path(journals, sweep)
        self._sweep = sweep
        self._file = 0  # its inode: a log that is written anew is another one
        self._num_bytes = 0
        self._shared = b""

    def shared(self) -> bytes:
        """Return definition and decisions as they are now; empty if there is no log.

        Raises:
            BadInput: If the log is damaged.
        """
        if not self._path.exists():
            return b""
        descriptor = in_storage(self._path.parent).open(self._path.name)
        status = os.fstat(descriptor)
        if status.st_ino != self._file or status.st_size < self._num_bytes:
            self._file, self._num_bytes, self._shared = status.st_ino, 0, b""
        os.lseek(descriptor, self._num_bytes, os.SEEK_SET)
        new = _checked(read_descriptor(descriptor, self._path, MOST_BYTES), self._path, self._sweep)
        self._num_bytes += new.num_bytes
        self._shared += new.shared()
        return self._shared


@dataclass(frozen=True)
class Launch:
    """One launch of a sweep.

    Attributes:
        started: Seconds since 1970.
        ended: None while it runs, or if its driver was killed.
        exit_code: None likewise.
        num_cells: Cells it set out to train.
        arguments: Those of its command line; none where Python code launched it.
        folder: Where the command was given, "" where that is not known.
    """

    started: float
    ended: float | None
    exit_code: int | None
    num_cells: int
    arguments: tuple[str, ...] = ()
    folder: str = ""


def last_launch(journals: Path, sweep: str) -> Launch | None:
    """Return the last launch of a sweep from this storage folder, None if there was none.

    Raises:
        BadInput: If the log is damaged.
    """
    path, started, ended = log_path(journals, sweep), None, None
    for entry in _valid(_lines(path, sweep), path, sweep, "launch_started", "launch_ended"):
        if isinstance(entry, LaunchStarted):
            started, ended = entry, None
        elif isinstance(entry, LaunchEnded):
            ended = entry
    if started is None:
        return None
    at, exit_code = (ended.at, ended.exit_code) if ended else (None, None)
    return Launch(
        started.at, at, exit_code, started.num_cells, arguments=started.words, folder=started.folder
    )


def pending_trials(journals: Path, sweep: str) -> set[str]:
    """Return the keys of the trials that wait for a process, by what the last launch noted.

    Raises:
        BadInput: If the log is damaged.
    """
    path, pending = log_path(journals, sweep), set[str]()
    for entry in _valid(_lines(path, sweep), path, sweep, "launch_started", "trial"):
        if isinstance(entry, LaunchStarted):
            pending.clear()
        elif isinstance(entry, TrialNoted) and entry.event == DISPATCHED:
            pending.add(entry.trial_key)
        elif isinstance(entry, TrialNoted):
            pending.discard(entry.trial_key)
    return pending


def waiting_trials(decisions: Iterable[Decided]) -> dict[str, int]:
    """Return trial key -> epoch for the trials that wait for their promotion."""
    return known_after(entry.decision for entry in decisions).waiting


def is_launching(journals: Path, sweep: str) -> bool:
    """Return whether a process is running a sweep, repairing or deleting it."""
    return is_locked(in_storage(journals), f"{sweep}.lock")


def locked_names(journals: Path) -> set[str]:
    """Return the names of all locks that processes hold: of sweeps, and of recorders."""
    folder = in_storage(journals)
    locks = [name for name in folder.names() if name.endswith(".lock")]
    return {name.removesuffix(".lock") for name in locks if is_locked(folder, name)}


def _folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # it was deleted
        return ""


def _content(entry: Decided) -> int:
    return hash((entry.kind, repr(entry.decision)))


def _lines(path: Path, sweep: str) -> LogLines:
    """Return the intact lines of a log, none if there is no log.

    Raises:
        BadInput: If the log is damaged.
    """
    if not os.path.lexists(path):
        return LogLines(b"")
    return _checked(in_storage(path.parent).read(path.name, MOST_BYTES), path, sweep)


def _checked(content: bytes, path: Path, sweep: str) -> LogLines:
    try:
        return LogLines(content)
    except ValueError as error:
        raise _damaged(path, sweep, error) from error


def _valid(lines: LogLines, path: Path, sweep: str, *types: str) -> list[Entry]:
    """Return the entries of lines, of some types or all.

    Raises:
        BadInput: If one is not valid.
    """
    try:
        return lines.entries(*types)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, sweep, error) from error


def _damaged(path: Path, sweep: str, error: Exception) -> BadInput:
    return BadInput(
        f"The log {path} is damaged ({_reason(error)}). `{SuggestedCommand('repair', sweep)}` "
        f"archives it; its content is restored from the tracking store and from the lines before."
    )


def _reason(error: Exception) -> str:
    return first_error(error) if isinstance(error, ValidationError) else str(error)


def _is_of_another(journals: Path, sweep: str) -> bool:
    """Return whether the log named by a sweep is the whole log of another one."""
    try:
        content = in_storage(journals).read(log_path(journals, sweep).name)
        declared = declared_last(LogLines(content).entries())
    except (OSError, BadInput, ValueError, RecursionError):
        return False
    return declared is not None and declared.manifest.sweep != sweep
