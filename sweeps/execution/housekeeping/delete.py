"""Delete a sweep: list what goes, and delete it if asked to.

It never touches trials that another sweep uses, nor anything outside the storage folder. A deletion
that was killed at any point is completed by the same call: what identifies the sweep goes last.
"""

import os
import re
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.housekeeping.deletion_plan import (
    DeletionPlan,
    ItemCount,
    count_items,
    files_of,
    plan_deletion,
)
from sweeps.execution.housekeeping.needs import sweeps_and_whether_running
from sweeps.execution.launch_process.launch_lock import existing_places, make_folders
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.sweep_log import locked_names, log_path, stored_manifest, write_log
from sweeps.records.errors import BadInput
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.records.sweep_log import Declared
from sweeps.storage.folder import in_storage
from sweeps.storage.locations import Storage
from sweeps.storage.sqlite_file import archive_file
from sweeps.tracking.addresses import public, sqlite_path
from sweeps.tracking.opening import open_store
from sweeps.tracking.store import RecordStore, RecordWriter

_RECORD_ID = re.compile(r"[0-9a-f]{32}")


def remove(sweep: str, plan: DeletionPlan, storage: Storage, store: RecordStore) -> list[str]:
    """Delete what the plan lists.

    Args:
        sweep: Its name. No process runs it meanwhile.
        plan: What to delete.
        storage: Nothing outside this folder is deleted.
        store: The tracking store.

    Returns:
        A sentence for each thing that could not be deleted. What tells of the sweep is left then.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    writer = store.writer() if store.exists() else None
    _keep_named(sweep, plan, storage)
    errors: list[str] = []
    for key in plan.trial_keys:
        try:
            _remove_trial(key, storage, writer)
        except (OSError, BadInput) as error:
            errors.append(f"Trial {key} could not be deleted: {error}")
    if errors:
        return [*errors, "Give the command again once that can be."]
    _forget(sweep, plan.trial_keys, storage, store.address)
    *files, log = files_of(sweep, storage)
    try:
        for path in files:
            in_storage(path.parent).remove(path.name)
        while writer and (record := writer.find_sweep(sweep)):
            remove_record(record.record_id, storage, writer)
        for name in (log.name, f"{sweep}.lock"):
            in_storage(storage.journals).remove(name)
    except (OSError, BadInput) as error:
        return [f"Not all could be deleted: {error}", "Give the command again once that can be."]
    return []


def _keep_named(sweep: str, plan: DeletionPlan, storage: Storage) -> None:
    """Write a log that names the cells if there is none: a kill would leave cells unnamed."""
    if stored_manifest(storage.journals, sweep) is None:
        path = log_path(storage.journals, sweep)
        if os.path.lexists(path):
            archive_file(in_storage(storage.journals), path.name)
        write_log(storage.journals, sweep, [Declared(manifest=plan.manifests[0])])


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
    with cell.new_lock() as lock:
        if is_here and not lock.acquire():
            raise BadInput("a process trains it still.")
        if writer:
            for record_id in writer.records_of(trial_key):
                remove_record(record_id, storage, writer)
        replaced = in_storage(storage.replaced)
        for archived in [name for name in replaced.names() if name.startswith(f"{trial_key}-")]:
            replaced.remove_all(archived)
        if is_here:
            in_storage(storage.cells).remove_all(trial_key)


def remove_record(record_id: str, storage: Storage, writer: RecordWriter) -> None:
    """Delete a record, after its files: by a record that is deleted they would not be found."""
    if _RECORD_ID.fullmatch(record_id):
        in_storage(storage.artifacts).remove_all(record_id)
    writer.delete_record(record_id)


def _forget(sweep: str, keys: Collection[str], storage: Storage, address: str) -> None:
    """Remove deleted trials from the recorder's queue."""
    queue = RecorderQueue(storage.journals, address)
    try:
        queue.add((), sweep, "")
        queue.forget(keys)
        for asked in queue.evaluated():
            if asked.trial_key in keys:
                queue.drop_evaluated(asked)
    finally:
        queue.close()


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
    counts: tuple[ItemCount, ...]
    sentences: tuple[str, ...]
    exit_code: int = 0


def delete(
    sweep: str,
    *,
    is_deleting: bool = False,
    storage_folder: str | Path | None = None,
    tracking_uri: str | None = None,
) -> Deleted:
    """List what would be deleted with a sweep, and delete it if asked to.

    Args:
        sweep: Its name.
        is_deleting: Whether to delete. No known sweep can be launched while it deletes.
        storage_folder: By default `CAPSWEEP_STORAGE` or ./capsweep-store.
        tracking_uri: By default `CAPSWEEP_TRACKING_URI` or in the storage.

    Raises:
        BadInput: If there is no such sweep or storage folder, a launch runs there, or it is not
            known which trials other sweeps use.
        StoreUnreachable: If the tracking store does not answer.
    """
    storage, address = existing_places(storage_folder, tracking_uri, is_writing=is_deleting)
    store = open_store(address, storage.root)
    with ExitStack() as locks:
        known = sweeps_and_whether_running(sweep, storage, store, None)
        _check_not_running(sweep, storage, sorted(locked_names(storage.journals)))
        if is_deleting:
            make_folders(storage)
            known = sweeps_and_whether_running(sweep, storage, store, locks)
            _check_not_running(sweep, storage, [name for name, is_run in known.items() if is_run])
        plan = plan_deletion(sweep, known.keys() - {sweep}, storage, store)
        counts = tuple(count_items(plan, sweep, storage, store))
        notes = _what_stays(sweep, plan, address)
        if storage.replaced.is_dir():
            notes = (
                "What --retrain archived of these trials goes too, and is not counted.",
                *notes,
            )
        if not is_deleting:
            return Deleted(sweep, False, counts, notes)
        errors = remove(sweep, plan, storage, store)
    return Deleted(sweep, True, counts, (*notes, *errors), 3 if errors else 0)


def _check_not_running(sweep: str, storage: Storage, running: Sequence[str]) -> None:
    """Refuse while anything runs: a launch that has just begun takes over trials that it finds.

    Raises:
        BadInput: Naming it.
    """
    if sweep in running:
        raise BadInput(
            f"'{sweep}' is being run over {storage.root}, so nothing was deleted: wait for it to "
            f"end, or end it by {SuggestedCommand('stop', sweep)}."
        )
    if running:
        raise BadInput(
            f"'{running[0]}' is at work over {storage.root} and may take over trials of '{sweep}', "
            f"so nothing was deleted: wait for it to end."
        )


def _what_stays(sweep: str, plan: DeletionPlan, address: str) -> tuple[str, ...]:
    sentences: list[str] = []
    if plan.shared:
        names = sorted(plan.shared)
        others = ", ".join(f"'{name}'" for name in names[:3]) + " and others" * (len(names) > 3)
        is_one = plan.num_shared == 1
        sentences.append(
            f"{plan.num_shared} of its trials {'stays' if is_one else 'stay'}, record and cell, as "
            f"other sweeps hold {'it' if is_one else 'them'}: {others}."
        )
    reports = Path("reports", sweep)
    existing = f", such as those in {reports}" if reports.is_dir() else ""
    where = "the store" if sqlite_path(address) else public(address)
    sentences.append(
        f"Records are marked as deleted in {where}, as in MLflow's own UI: `mlflow gc` frees them. "
        f"Reports outside of the storage folder stay{existing}."
    )
    return tuple(sentences)
