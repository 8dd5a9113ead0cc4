"""The journal of a sweep: a durable log of its launches and of what happened to its trials."""

import time
from dataclasses import dataclass, fields
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from sweeps.records.bounds import Count, Seconds, Whole
from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import is_locked
from sweeps.storage.sqlite_file import DamagedFile, open_sqlite


@dataclass(frozen=True)
class Launch:
    """One launch of a sweep.

    Attributes:
        started: Seconds since 1970.
        ended: None while it runs, or if its driver was killed.
        exit_code: None likewise.
        num_cells: Cells it set out to train.
    """

    number: Count
    started: Seconds
    ended: Seconds | None
    exit_code: Whole | None
    num_cells: Count


_LAUNCHES = TypeAdapter(list[Launch])


class Journal:
    """The journal of one sweep, a SQLite file.

    Attributes:
        database: The open file; a search keeps tables of its own in it.
    """

    def __init__(self, journals: Path, sweep: str) -> None:
        """Open the journal, or begin it.

        Raises:
            BadInput: If it is damaged.
        """
        journals.mkdir(parents=True, exist_ok=True)
        self._path = journals / f"{sweep}.db"
        try:
            self.database = open_sqlite(self._path)
        except DamagedFile as error:
            raise BadInput(
                f"The journal {error} `capsweep repair {sweep}` archives it; its content is "
                f"restored from the manifest and the cells' folders."
            ) from error
        self.database.execute(
            "create table if not exists launches (number integer primary key, started real not"
            " null, ended real, exit_code integer, num_cells integer not null)"
        )
        self.database.execute(
            "create table if not exists events (launch integer not null, time real not null,"
            " trial_key text not null, event text not null, detail text not null)"
        )
        self._launch = 0

    def open_launch(self, num_cells: int) -> None:
        """Note that a launch begins."""
        cursor = self.database.execute(
            "insert into launches (started, num_cells) values (?, ?)", (time.time(), num_cells)
        )
        self._launch = cursor.lastrowid or 0

    def close_launch(self, exit_code: int) -> None:
        """Note how the launch ended."""
        self.database.execute(
            "update launches set ended = ?, exit_code = ? where number = ?",
            (time.time(), exit_code, self._launch),
        )

    def note(self, trial_key: str, event: str, detail: str = "") -> None:
        """Note that something happened to a trial."""
        self.database.execute(
            "insert into events values (?, ?, ?, ?, ?)",
            (self._launch, time.time(), trial_key, event, detail),
        )

    def launches(self) -> list[Launch]:
        """Return the launches, oldest first.

        Raises:
            BadInput: If a row holds what none can.
        """
        rows = self.database.execute(
            "select number, started, ended, exit_code, num_cells from launches order by number"
        )
        names = [field.name for field in fields(Launch)]
        try:
            return _LAUNCHES.validate_python([dict(zip(names, row, strict=True)) for row in rows])
        except ValidationError as error:
            raise BadInput(
                f"The journal {self._path} is damaged: a launch in it has values that none can "
                f"have. `capsweep repair` puts it aside."
            ) from error

    def events(self, trial_key: str) -> list[tuple[str, str]]:
        """Return what happened to a trial over all launches, oldest first: event, detail."""
        rows = self.database.execute(
            "select event, detail from events where trial_key = ? order by rowid", (trial_key,)
        )
        return [(event, detail) for event, detail in rows]

    def close(self) -> None:
        """Close the file."""
        self.database.close()


def is_launching(journals: Path, sweep: str) -> bool:
    """Return whether a process is running a sweep, repairing or deleting it."""
    return is_locked(journals / f"{sweep}.lock")
