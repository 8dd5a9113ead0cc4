"""Delete a sweep: list what goes, and delete it if asked to.

It never touches trials that another sweep uses, nor anything outside the storage folder. A deletion
that was killed at any point is completed by the same call: what identifies the sweep goes last.
"""

import os
import re
import shutil
import stat
from collections.abc import Collection, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.housekeeping.deletion_plan import Counted, Doomed, counted, doomed, files_of
from sweeps.execution.housekeeping.needs import held_sweeps
from sweeps.execution.launch_process.launch_lock import existing_places, make_folders
from sweeps.execution.recorder.manifest_file import hand_over, kept_manifest
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import FileLock, is_locked
from sweeps.storage.locations import Storage
from sweeps.storage.regular_files import opened_folder
from sweeps.tracking.addresses import public, sqlite_path
from sweeps.tracking.opening import open_store
from sweeps.tracking.store import RecordStore, RecordWriter

_RECORD_ID = re.compile(r"[0-9a-f]{32}")


def remove(sweep: str, going: Doomed, storage: Storage, store: RecordStore) -> list[str]:
    """Delete what goes with a sweep.

    Args:
        sweep: Its name. Nobody runs it meanwhile.
        going: What goes.
        storage: The folder, outside of which nothing is deleted.
        store: Of the records.

    Returns:
        A sentence for each thing that could not be deleted. What tells of the sweep is left then.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    writer = store.writer() if store.is_there() else None
    if kept_manifest(storage.journals, sweep) is None:  # a kill would leave cells untold of
        hand_over(storage.journals, going.manifests[0])
    complaints: list[str] = []
    for key in going.trial_keys:
        try:
            _remove_trial(key, storage, writer)
        except (OSError, BadInput) as error:
            complaints.append(f"Trial {key} could not be deleted: {error}")
    if complaints:
        return [*complaints, "Give the command again once that can be."]
    _forget(sweep, going.trial_keys, storage, store.address)
    *files, manifest = files_of(sweep, storage)
    try:
        for path in files:
            remove_path(path)
        while writer and (found := writer.find_sweep(sweep)):
            remove_record(found.record_id, storage, writer)
        remove_path(manifest)
        remove_path(storage.journals / f"{sweep}.lock")
    except (OSError, BadInput) as error:
        return [f"Not all could be deleted: {error}", "Give the command again once that can be."]
    return []


def _remove_trial(trial_key: str, storage: Storage, writer: RecordWriter | None) -> None:
    """Delete a trial's records, then its cell.

    Raises:
        BadInput: If a process trains it, or its folder leads elsewhere or is a stranger's.
        OSError: If the disk refuses.
    """
    cell = CellFolder(storage.cells, trial_key)
    is_here = os.path.lexists(cell.path)
    if is_here:
        cell.is_busy()  # refuses what leads elsewhere
    with FileLock(cell.lock) as lock:
        if is_here and not lock.acquire():
            raise BadInput("a process trains it still.")
        if writer:
            for record_id in writer.records_of(trial_key):
                remove_record(record_id, storage, writer)
        for put_aside in storage.replaced.glob(f"{trial_key}-*"):
            remove_path(put_aside)
        if is_here:
            remove_path(cell.path)


def remove_record(record_id: str, storage: Storage, writer: RecordWriter) -> None:
    """Delete a record, after its files: by a record that is deleted they would not be found."""
    if _RECORD_ID.fullmatch(record_id):
        remove_path(storage.artifacts / record_id)
    writer.delete_record(record_id)


def _forget(sweep: str, keys: Collection[str], storage: Storage, address: str) -> None:
    """Have the recorder carry nothing of what is gone."""
    queue = RecorderQueue(storage.journals, address)
    try:
        queue.add((), sweep, "")
        queue.forget(keys)
        for asked in queue.evaluated():
            if asked.trial_key in keys:
                queue.drop_evaluated(asked)
    finally:
        queue.close()


def remove_path(path: Path) -> None:
    """Delete a file, or a folder and all in it, by the folder that it lies in, through no link."""
    with suppress(FileNotFoundError), opened_folder(path.parent) as parent:
        status = os.stat(path.name, dir_fd=parent, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            shutil.rmtree(path.name, dir_fd=parent)
        else:
            os.unlink(path.name, dir_fd=parent)


@dataclass(frozen=True)
class Deleted:
    """What goes with a sweep, or has gone.

    Attributes:
        is_done: Whether it was asked for, not only to be told.
        counts: By kind.
        sentences: What stays, and why.
        exit_code: 0, or 3 where something could not be deleted.
    """

    sweep: str
    is_done: bool
    counts: tuple[Counted, ...]
    sentences: tuple[str, ...]
    exit_code: int = 0


def delete(
    sweep: str,
    *,
    is_deleting: bool = False,
    storage_folder: str | Path | None = None,
    tracking_uri: str | None = None,
) -> Deleted:
    """Say what would go with a sweep, and delete it where that is asked for.

    Args:
        sweep: Its name.
        is_deleting: Whether it is done. While that lasts, no known sweep can be launched.
        storage_folder: By default `CAPSWEEP_STORAGE` or ./capsweep-store.
        tracking_uri: By default `CAPSWEEP_TRACKING_URI` or in the storage.

    Raises:
        BadInput: If there is no such sweep or storage folder, a launch runs there, or it is not
            known which trials other sweeps hold.
        StoreUnreachable: If the tracking store does not answer.
    """
    storage, address = existing_places(storage_folder, tracking_uri)
    store = open_store(address, storage.root)
    with ExitStack() as locks:
        known = held_sweeps(sweep, storage, store, None)
        journals = storage.journals
        _refuse_launches(sweep, storage, [p.stem for p in journals.glob("*.lock") if is_locked(p)])
        if is_deleting:
            make_folders(storage)
            known = held_sweeps(sweep, storage, store, locks)
            _refuse_launches(sweep, storage, [name for name, is_run in known.items() if is_run])
        going = doomed(sweep, known.keys() - {sweep}, storage, store)
        counts = tuple(counted(going, sweep, storage, store))
        told = _what_stays(sweep, going, address)
        if storage.replaced.is_dir():
            told = ("What --fresh put aside of these trials goes too, and is not counted.", *told)
        if not is_deleting:
            return Deleted(sweep, False, counts, told)
        complaints = remove(sweep, going, storage, store)
    return Deleted(sweep, True, counts, (*told, *complaints), 3 if complaints else 0)


def _refuse_launches(sweep: str, storage: Storage, running: Sequence[str]) -> None:
    """Refuse while anything runs: a launch that has just begun takes over trials that it finds.

    Raises:
        BadInput: Naming it.
    """
    if sweep in running:
        raise BadInput(
            f"'{sweep}' is being run over {storage.root}, so nothing was deleted: wait for it to "
            f"end, or end it by capsweep stop {sweep}."
        )
    if running:
        raise BadInput(
            f"'{running[0]}' is at work over {storage.root} and may take over trials of '{sweep}', "
            f"so nothing was deleted: wait for it to end."
        )


def _what_stays(sweep: str, going: Doomed, address: str) -> tuple[str, ...]:
    told: list[str] = []
    if going.held:
        names = sorted(going.held)
        others = ", ".join(f"'{name}'" for name in names[:3]) + " and others" * (len(names) > 3)
        is_one = going.num_held == 1
        told.append(
            f"{going.num_held} of its trials {'stays' if is_one else 'stay'}, record and cell, as "
            f"other sweeps hold {'it' if is_one else 'them'}: {others}."
        )
    reports = Path("reports", sweep)
    there = f", such as those in {reports}" if reports.is_dir() else ""
    where = "the store" if sqlite_path(address) else public(address)
    told.append(
        f"Records are marked as deleted in {where}, as in MLflow's own UI: `mlflow gc` frees them. "
        f"Reports outside of the storage folder stay{there}."
    )
    return tuple(told)
