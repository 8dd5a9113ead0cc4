"""Damaged SQLite files of a storage folder put aside, so that they are made anew."""

import sqlite3
from contextlib import closing
from pathlib import Path

from sweeps.execution.cells.journal import Journal
from sweeps.execution.plan.decision_log import DecisionLog, definitions_in
from sweeps.execution.recorder.recorder_queue import QUEUE
from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import is_locked
from sweeps.storage.locations import Storage
from sweeps.storage.sqlite_file import damage_of, put_aside
from sweeps.tracking.addresses import sqlite_path
from sweeps.tracking.opening import rewrite_places


def put_damaged_aside(storage: Storage, tracking_uri: str) -> list[str]:
    """Put damaged journals, queues and an embedded tracking store aside; say which.

    What somebody uses now is left alone.
    """
    told: list[str] = []
    store = sqlite_path(tracking_uri)
    embedded = [store] if store and store.is_file() else []
    for path in (*sorted(storage.journals.glob("*.db")), *embedded):
        if is_locked(path.with_suffix(".lock")):
            continue
        if why := damage_of(path) or _unreadable(path, storage):
            aside = put_aside(path)
            told.append(f"{path} was damaged ({why}): it was put aside as {aside.name}.")
    return told


def _unreadable(path: Path, storage: Storage) -> str:
    """Return what cannot be read in a sweep's journal that is whole as a file, "" if all can."""
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


def rewrite_recorded_places(storage: Storage, tracking_uri: str) -> list[str]:
    """Have the rows of an embedded store name its storage folder and no other place."""
    store = sqlite_path(tracking_uri)
    if not store or not store.is_relative_to(storage.root):
        return []
    if any(map(is_locked, storage.journals.glob("*.lock"))):
        return []
    backups = storage.root / "backups"
    if num_rows := rewrite_places(store, backups):
        return [
            f"{num_rows} rows of {store} named a place, such as its old folder, and now name none; "
            f"the file as it was is in {backups}."
        ]
    return []
