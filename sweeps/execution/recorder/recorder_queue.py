"""The recorder's queue: what is to be recorded and how far it is, one SQLite file a store."""

import hashlib
import json
import logging
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeps.records.trial_record import Outcome
from sweeps.storage.file_lock import FileLock
from sweeps.storage.folder import Folder, in_storage
from sweeps.storage.sqlite_file import (
    DamagedFile,
    RetryingConnection,
    archive_file,
    open_sqlite,
    transaction,
)
from sweeps.tracking.addresses import sqlite_path

_COLUMNS = (
    # parent_id and run_id are `sweep_id` and `record_id`
    "trial_key, sweep, parent_id, run_id, carried_bytes, last_epoch, outcome, is_closed,"
    " exists (select 1 from wanted where wanted.trial_key = cells.trial_key)"
)
QUEUE = "recorder-"
"""What the names of all queues' files begin with."""
_TABLES = (
    "cells (trial_key text primary key, sweep text not null, parent_id text not null, run_id text,"
    " carried_bytes integer not null default 0, last_epoch integer not null default 0,"
    " outcome text, is_closed integer not null default 0)",
    "wanted (trial_key text not null, sweep text not null, primary key (trial_key, sweep))",
    "evaluated (number integer primary key autoincrement, trial_key text not null unique,"
    " sweep text not null)",
)
_NO_CELLS = (
    "select 1 from cells where typeof(trial_key) != 'text' or typeof(sweep) != 'text'"
    " or typeof(parent_id) != 'text' or typeof(run_id) not in ('text', 'null')"
    " or typeof(carried_bytes) != 'integer' or typeof(last_epoch) != 'integer'"
    " or outcome is not null and outcome not in (select value from json_each(?))"
    " union all select 1 from evaluated"
    " where typeof(trial_key) != 'text' or typeof(sweep) != 'text' limit 1"
)
_LOG = logging.getLogger(__name__)
_COLUMN_OF = {"sweep_id": "parent_id", "record_id": "run_id"}


@dataclass(frozen=True)
class QueuedCell:
    """A cell that the recorder serves.

    Attributes:
        sweep: The sweep that asked for it first.
        sweep_id: The record of that sweep in the store.
        record_id: The record of the trial, None before it is known.
        carried_bytes: Length of the part of the outbox that is recorded.
        last_epoch: The last epoch that the store has.
        outcome: Outcome in the store.
        is_closed: Whether the final record has been carried.
        is_wanted: Whether any sweep has it among its cells.
    """

    trial_key: str
    sweep: str
    sweep_id: str
    record_id: str | None
    carried_bytes: int
    last_epoch: int
    outcome: Outcome | None
    is_closed: bool
    is_wanted: bool


@dataclass(frozen=True)
class EvaluatedTrial:
    """A trial with evaluations that the tracking store may lack.

    Attributes:
        number: Number of the request; a later request of the same trial has a higher number.
        sweep: Which asked last.
    """

    number: int
    trial_key: str
    sweep: str


class RecorderQueue:
    """The durable queue between the drivers, which add cells, and the recorder that serves them.

    Launches ask again for all that it holds, so a damaged one is archived.
    """

    def __init__(self, journals: Path, tracking_uri: str) -> None:
        self.stem = QUEUE + _store_name(tracking_uri, journals.parent)
        folder = in_storage(journals)
        self.lock = FileLock(folder, f"{self.stem}.lock")
        self._database = _opened(folder, f"{self.stem}.db")

    def add(self, trial_keys: Collection[str], sweep: str, sweep_id: str) -> None:
        """Set the cells of a sweep that are to be recorded.

        A cell that is queued already keeps its first sweep, but gets the present record of that
        sweep, as the earlier one may be deleted. Call `forget` first for what the store may lack.
        """
        with transaction(self._database):
            self._database.execute("delete from wanted where sweep = ?", (sweep,))
            self._insert(trial_keys, sweep, sweep_id)

    def add_more(self, trial_keys: Collection[str], sweep: str, sweep_id: str) -> None:
        """Add cells of a sweep that are to be recorded."""
        with transaction(self._database):
            self._insert(trial_keys, sweep, sweep_id)

    def _insert(self, trial_keys: Collection[str], sweep: str, sweep_id: str) -> None:
        self._database.executemany(
            "insert into cells (trial_key, sweep, parent_id) values (?, ?, ?)"
            " on conflict do update set parent_id = excluded.parent_id"
            " where sweep = excluded.sweep",
            [(key, sweep, sweep_id) for key in trial_keys],
        )
        self._database.executemany(
            "insert or ignore into wanted values (?, ?)", [(key, sweep) for key in trial_keys]
        )

    def begin_anew(self, sweep: str, sweep_id: str) -> None:
        """Record all cells of a sweep from the beginning, under a new record of the sweep."""
        self._database.execute(
            "update cells set parent_id = ?, run_id = null, carried_bytes = 0, last_epoch = 0,"
            " outcome = null, is_closed = 0 where trial_key in"
            " (select trial_key from wanted where wanted.sweep = ?)",
            (sweep_id, sweep),
        )

    def forget(self, trial_keys: Iterable[str]) -> None:
        """Remove cells, so that they are recorded from the beginning when they are added again."""
        with transaction(self._database):
            self._database.executemany(
                "delete from cells where trial_key = ?", [(key,) for key in trial_keys]
            )

    def open_cells(self, wanted_by: str | None = None) -> list[QueuedCell]:
        """Return the cells whose final record is not carried yet, in the order they were added.

        Args:
            wanted_by: Only those that this sweep has asked for, whichever asked first.
        """
        rows = self._database.execute(
            f"select {_COLUMNS} from cells where is_closed = 0 and (? is null or trial_key in"
            " (select trial_key from wanted where wanted.sweep = ?)) order by rowid",
            (wanted_by, wanted_by),
        )
        return [_cell(row) for row in rows]

    def cell(self, trial_key: str) -> QueuedCell | None:
        """Return one cell, None if it is not queued."""
        row = self._database.execute(
            f"select {_COLUMNS} from cells where trial_key = ?", (trial_key,)
        ).fetchone()
        return _cell(row) if row else None

    def update(self, trial_key: str, **columns: Any) -> None:
        """Update columns of a cell, named as the attributes of `QueuedCell`."""
        assignments = ", ".join(f"{_COLUMN_OF.get(name, name)} = ?" for name in columns)
        self._database.execute(
            f"update cells set {assignments} where trial_key = ?", (*columns.values(), trial_key)
        )

    def add_evaluated(self, trial_keys: Iterable[str], sweep: str) -> None:
        """Queue trials whose evaluations are written and are to be recorded."""
        with transaction(self._database):
            self._database.executemany(
                "insert or replace into evaluated (trial_key, sweep) values (?, ?)",
                [(key, sweep) for key in trial_keys],
            )

    def evaluated(self) -> list[EvaluatedTrial]:
        """Return the trials whose evaluations are to be recorded, oldest request first."""
        rows = self._database.execute(
            "select number, trial_key, sweep from evaluated order by number"
        )
        return [EvaluatedTrial(*row) for row in rows]

    def drop_evaluated(self, trial: EvaluatedTrial) -> None:
        """Remove a request that is served; a later one for the same trial stays."""
        self._database.execute("delete from evaluated where number = ?", (trial.number,))

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _opened(folder: Folder, name: str) -> RetryingConnection:
    try:
        return _with_tables(folder, name)
    except DamagedFile as error:
        aside = archive_file(folder, name)
        _LOG.warning("%s It was archived as %s, and is made again.", error, aside.name)
        return _with_tables(folder, name)


def _with_tables(folder: Folder, name: str) -> RetryingConnection:
    """Open a queue.

    Raises:
        DamagedFile: If it cannot be read, or holds what no queue does.
    """
    database, path = open_sqlite(folder, name), folder.path / name
    try:
        for table in _TABLES:
            database.execute(f"create table if not exists {table}")
        outcomes = json.dumps([str(outcome) for outcome in Outcome])
        is_foreign = database.execute(_NO_CELLS, (outcomes,)).fetchone() is not None
    except sqlite3.OperationalError as error:
        database.close()
        if "no such column" not in str(error):
            raise
        raise DamagedFile(f"{path} is damaged ({error}).") from error
    if is_foreign:
        database.close()
        raise DamagedFile(f"{path} is damaged (a row in it holds what no trial has).")
    return database


def _store_name(tracking_uri: str, storage: Path) -> str:
    """Return a name of a tracking store that is unique in a storage folder.

    A database inside it is named by its place there, so that the folder can be moved and copied.
    """
    path = sqlite_path(tracking_uri)
    if path and path.is_relative_to(storage):
        return "embedded-" + str(path.relative_to(storage)).replace("/", "-")
    return hashlib.sha256(tracking_uri.encode()).hexdigest()[:12]


def _cell(row: tuple[Any, ...]) -> QueuedCell:
    key, sweep, sweep_id, record, carried, epoch, outcome, closed, wanted = row
    outcome = Outcome(outcome) if outcome else None
    return QueuedCell(
        key, sweep, sweep_id, record, carried, epoch, outcome, bool(closed), bool(wanted)
    )
