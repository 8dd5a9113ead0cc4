"""Clean: find files that nothing needs, list them, and delete them if asked to.

It never touches what a table is made of: final records, weights, predictions, outboxes, artifacts,
logs, evaluations. It skips cells that a trial holds and sweeps that are running.
"""

import os
import stat
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from sweeps.execution.cells.folder import CHECKPOINT, PREDICTIONS, WEIGHTS, CellFolder
from sweeps.execution.housekeeping.leftovers import Kind, Leftover, Needs, kind_of, untouched_since
from sweeps.execution.housekeeping.needs import needs_of, sweeps_and_whether_running
from sweeps.execution.launch_process.launch_lock import existing_places
from sweeps.records.cell_contents import FinalRecord
from sweeps.records.errors import BadInput
from sweeps.storage.disk_room import size_text
from sweeps.storage.folder import folder_of
from sweeps.storage.leftover_files import is_left_over
from sweeps.storage.locations import Storage
from sweeps.tracking.opening import open_store
from sweeps.tracking.store import RecordStore


@dataclass(frozen=True)
class Freed:
    """What was deleted, and why other things were not.

    Attributes:
        errors: A sentence for each thing that could not be deleted.
    """

    leftovers: tuple[Leftover, ...]
    errors: tuple[str, ...]


def free(leftovers: Iterable[Leftover], storage: Storage) -> Freed:
    """Delete leftovers, but none of a cell that a trial has begun to write to since."""
    freed: list[Leftover] = []
    errors: list[str] = []
    for leftover in leftovers:
        try:
            if _is_freed(leftover, storage.root):
                freed.append(leftover)
        except FileNotFoundError:  # another process was faster
            continue
        except (OSError, BadInput) as error:
            errors.append(f"{leftover.path} could not be deleted: {error}")
    return Freed(tuple(freed), tuple(errors))


def _is_freed(leftover: Leftover, root: Path) -> bool:
    if leftover.cell is None:
        _delete(leftover, root)
        return True
    folder = CellFolder(leftover.cell.parent, leftover.cell.name)
    with folder.new_lock() as lock:
        if lock.acquire():
            _delete(leftover, root)
            return True
    return False


def _delete(leftover: Leftover, root: Path) -> None:
    """Delete a file or a cell's folder, in its own parent folder alone."""
    folder = folder_of(leftover.path, root)
    if leftover.kind is Kind.REPLACED:
        folder.remove_all(leftover.path.name)
    else:
        folder.remove(leftover.path.name)


def find_leftovers(storage: Storage, store: RecordStore, needs: Needs) -> list[Leftover]:
    """Return all that may be freed.

    Args:
        storage: Where it lies.
        store: Asked which cells are filled whose folders do not tell.
        needs: What the sweeps need.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    leftovers = [*_damaged_or_temporary(storage, needs), *_replaced(storage, needs)]
    if needs.only is None and needs.is_certain:
        leftovers += _elsewhere(storage)
    return [*_unneeded_attempts(storage, store, needs), *leftovers]


def _damaged_or_temporary(storage: Storage, needs: Needs) -> Generator[Leftover]:
    """Yield what is damaged or temporary in cells that nobody writes to."""
    for folder in _folders(storage.cells):
        if needs.concerns(folder.name) and not _is_taken(storage.cells, folder.name):
            for path, status in _files_below(folder):
                if kind := kind_of(path.name):
                    yield Leftover(kind, path, status.st_size, status.st_mtime, folder)


def _unneeded_attempts(storage: Storage, store: RecordStore, needs: Needs) -> Generator[Leftover]:
    """Yield checkpoints that nobody resumes from, and results of attempts that were too late."""
    candidates = {
        folder.name: CellFolder(storage.cells, folder.name)
        for folder in _folders(storage.cells)
        if needs.concerns(folder.name) and not _is_taken(storage.cells, folder.name)
    }
    checkpoints = {key: cell.attempt_files(CHECKPOINT) for key, cell in candidates.items()}
    resumable = [key for key, paths in checkpoints.items() if paths]
    records = store.records(resumable) if resumable and store.exists() else {}
    for key in resumable:
        cell = candidates[key]
        is_recorded = key in records and records[key].outcome.is_final
        is_filled = is_recorded or _final_record(cell) is not None
        if not needs.wants_checkpoint(key, is_filled=is_filled):
            yield from _as_leftovers(Kind.CHECKPOINT, cell, checkpoints[key])
    for cell in candidates.values():
        results = cell.attempt_files(PREDICTIONS, WEIGHTS)
        if len(set(results.values())) > 1 and (final := _final_record(cell)):
            late = [path for path in cell.unneeded_files(final) if path in results]
            yield from _as_leftovers(Kind.TEMPORARY, cell, late)


def _as_leftovers(kind: Kind, cell: CellFolder, paths: Iterable[Path]) -> Generator[Leftover]:
    for path in paths:
        if status := _status(path):
            yield Leftover(kind, path, status.st_size, status.st_mtime, cell.path)


def _states(storage: Storage) -> Generator[Leftover]:
    """Yield the states from which longer trainings may go on."""
    for path, status in _files_below(storage.states):
        yield Leftover(Kind.STATE, path, status.st_size, status.st_mtime)


def _replaced(storage: Storage, needs: Needs) -> Generator[Leftover]:
    for folder in _folders(storage.replaced):
        trial_key, _, _ = folder.name.rpartition("-")
        if needs.concerns(trial_key) and not _is_taken(storage.replaced, folder.name):
            files = [status for _, status in _files_below(folder)]
            written = max(status.st_mtime for status in (folder.lstat(), *files))
            size = sum(status.st_size for status in files)
            yield Leftover(Kind.REPLACED, folder, size, written)


def _elsewhere(storage: Storage) -> Generator[Leftover]:
    """Yield what is damaged or temporary among the logs, the store and its artifacts."""
    for folder in (storage.root, storage.journals, storage.artifacts):
        for path, status in _files_below(folder, is_deep=folder == storage.artifacts):
            kind = kind_of(path.name)
            is_aside = kind is Kind.DAMAGED and folder != storage.artifacts
            if is_aside or is_left_over(path):
                yield Leftover(kind or Kind.TEMPORARY, path, status.st_size, status.st_mtime)


def _folders(parent: Path) -> list[Path]:
    """Return the folders in one, sorted, without links; none where it is not there."""
    if parent.is_symlink() or not parent.is_dir():
        return []
    with os.scandir(parent) as entries:
        return sorted(
            parent / entry.name for entry in entries if entry.is_dir(follow_symlinks=False)
        )


def _files_below(folder: Path, *, is_deep: bool = True) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the regular files below a folder, and what the disk says of them."""
    for parent, folders, names in os.walk(folder):
        if not is_deep:
            folders.clear()
        for name in names:
            path = Path(parent, name)
            if status := _status(path):
                yield path, status


def _is_taken(cells: Path, name: str) -> bool:
    """Return whether a cell is held, of another owner, or has a lock that cannot be checked."""
    try:
        return CellFolder(cells, name).is_busy()
    except BadInput:
        return True


def _final_record(cell: CellFolder) -> FinalRecord | None:
    """Return the final record, None if it is missing or cannot be read."""
    with suppress(BadInput):
        return cell.read_final()
    return None


def _status(path: Path) -> os.stat_result | None:
    """Return what the disk says of a regular file, None of anything else."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _kept_note(states: Sequence[Leftover]) -> tuple[str, ...]:
    """Return the size of the states that are kept for longer trainings, and how to free it."""
    if not states:
        return ()
    size = size_text(sum(state.num_bytes for state in states))
    return (f"{size} are kept for longer trainings to go on from: --states frees them too.",)


@dataclass(frozen=True)
class Cleaned:
    """What can be freed, or what was.

    Attributes:
        leftovers: The files and folders.
        is_freed: Whether they were deleted.
        sentences: What was left alone, and why.
        exit_code: 0, or 3 where something could not be deleted.
    """

    leftovers: tuple[Leftover, ...]
    is_freed: bool
    sentences: tuple[str, ...]
    exit_code: int


def clean(
    sweep: str | None = None,
    *,
    older_than_seconds: float = 0.0,
    is_freeing: bool = False,
    with_states: bool = False,
    storage_folder: str | Path | None = None,
    tracking_uri: str | None = None,
) -> Cleaned:
    """List what nothing in a storage folder needs, and delete it if asked to.

    Args:
        sweep: Search the cells of this sweep alone; None searches the whole storage folder.
        older_than_seconds: List only what was not written to for this long.
        is_freeing: Whether to delete. Meanwhile the sweeps cannot be launched.
        with_states: Whether to list what longer trainings may go on from, too.
        storage_folder: By default `CAPSWEEP_STORAGE` or ./capsweep-store.
        tracking_uri: By default `CAPSWEEP_TRACKING_URI` or in the storage.

    Raises:
        BadInput: If there is no such sweep or storage folder, or states are asked for of one sweep.
        StoreUnreachable: If the tracking store does not answer.
    """
    if sweep and with_states:
        raise BadInput(
            "--states frees what longer trainings of all sweeps may go on from, as sweeps share "
            "it: leave the sweep out."
        )
    storage, address = existing_places(storage_folder, tracking_uri, is_writing=is_freeing)
    store = open_store(address, storage.root)
    with ExitStack() as locks:
        sweeps = sweeps_and_whether_running(sweep, storage, store, locks if is_freeing else None)
        needs, notes = needs_of(sweep, sweeps, storage, store)
        leftovers = find_leftovers(storage, store, needs)
        states = [] if sweep else [*_states(storage)]
        leftovers += states if with_states else []
        notes += _kept_note(states) if not with_states else ()
        leftovers = untouched_since(leftovers, time.time() - older_than_seconds)
        if not is_freeing:
            return Cleaned(tuple(leftovers), is_freed=False, sentences=notes, exit_code=0)
        freed = free(leftovers, storage)
    code = 3 if freed.errors else 0
    return Cleaned(freed.leftovers, True, (*notes, *freed.errors), code)
