"""The edge that deletes a sweep: in an order that a kill may break off anywhere.

A cell goes with the record of its trial, under the lock of the cell. Then go the queue's rows, the
journal, the sweep's own record, and last the kept manifest, which tells what there is to delete.
"""

import os
import re
import shutil
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.housekeeping.doomed import Doomed, files_of
from sweeps.execution.recorder.manifest_file import hand_over, kept_manifest
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import FileLock
from sweeps.storage.locations import Storage
from sweeps.storage.regular_files import opened_folder
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
