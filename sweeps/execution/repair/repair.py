"""Repair of a storage folder and its tracking store after damage or loss.

Nothing is overwritten: damaged files are archived. Intact files stay as they are, so a second
repair does nothing. Lost folders of cells need no repair: a record is enough for its cell to count
as filled.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sweeps.execution.cells.journal import Journal
from sweeps.execution.launch_process.launch_lock import existing_places, make_folders, sweep_lock
from sweeps.execution.plan.decision_log import DecisionLog, definitions_in
from sweeps.execution.recorder.manifest_file import known_sweeps
from sweeps.execution.recorder.recorder_queue import QUEUE
from sweeps.execution.repair.sweep_repair import SweepRepair
from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import is_locked
from sweeps.storage.locations import Storage
from sweeps.storage.sqlite_file import archive_file, find_damage
from sweeps.tracking.addresses import sqlite_path
from sweeps.tracking.opening import open_store


def archive_damaged(storage: Storage, tracking_uri: str) -> list[str]:
    """Archive damaged journals, queues and an embedded tracking store. Returns a sentence for each.

    Files in use are not touched.
    """
    sentences: list[str] = []
    store = sqlite_path(tracking_uri)
    embedded = [store] if store and store.is_file() else []
    for path in (*sorted(storage.journals.glob("*.db")), *embedded):
        if is_locked(path.with_suffix(".lock")):
            continue
        if why := find_damage(path) or _unreadable(path, storage):
            aside = archive_file(path)
            sentences.append(f"{path} was damaged ({why}): it was archived as {aside.name}.")
    return sentences


def _unreadable(path: Path, storage: Storage) -> str:
    """Return what is unreadable in a sweep's journal that is an intact file, "" if nothing is."""
    if path.parent != storage.journals or path.stem.startswith(QUEUE):
        return ""
    try:
        journal = Journal(storage.journals, path.stem)
        with closing(journal):
            journal.launches()
            for definition in definitions_in(journal):
                DecisionLog(journal, definition).entries()
    except (BadInput, sqlite3.DatabaseError):
        return "it holds what no sweep notes"
    return ""


@dataclass(frozen=True)
class Repaired:
    """The result of a repair.

    Attributes:
        sentences: One for each thing that was repaired.
        exit_code: 0, or 3 if something could not be repaired.
    """

    sentences: tuple[str, ...]
    exit_code: int


def repair(
    sweep: str | None = None,
    storage_folder: str | Path | None = None,
    tracking_uri: str | None = None,
) -> Repaired:
    """Repair what was lost or damaged in a storage folder or its tracking store.

    Args:
        sweep: The sweep to repair; None for all that the storage folder and the store know.
        storage_folder: By default `CAPSWEEP_STORAGE` or ./capsweep-store.
        tracking_uri: By default `CAPSWEEP_TRACKING_URI` or in the storage.

    Raises:
        BadInput: If there is no such sweep or storage folder.
        StoreUnreachable: If the tracking store does not answer.
    """
    storage, address = existing_places(storage_folder, tracking_uri)
    store = open_store(address, storage.root)
    make_folders(storage)
    sentences = archive_damaged(storage, address)  # before the store is used
    known = known_sweeps(sweep, storage, store)
    is_whole = True
    for name in [sweep] if sweep else known:
        if is_locked(storage.journals / f"{name}.lock"):
            sentences.append(f"'{name}' is being run, and was left alone.")
            continue
        with sweep_lock(name, storage):
            one = SweepRepair(storage, store, name)
            sentences += one.run()
            is_whole &= one.is_whole
    return Repaired(tuple(sentences), 0 if is_whole else 3)
