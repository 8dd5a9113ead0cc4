"""What the release before this one noted of a search: proposals and verdicts, a table each."""

import json
from collections.abc import Mapping

from sweeps.execution.cells.journal import Journal
from sweeps.records.manifest_plan import Plain


class EarlierAccount:
    """Writes the journal of a search as it was."""

    def __init__(self, journal: Journal, definition: str) -> None:
        self._database = journal.database
        self._definition = definition
        self._database.execute(
            "create table if not exists proposals (definition text not null, number integer not"
            " null, params text not null, primary key (definition, number))"
        )
        self._database.execute(
            "create table if not exists verdicts (definition text not null, trial_key text not"
            " null, epoch integer not null, value real not null, is_stop integer not null,"
            " primary key (definition, trial_key, epoch))"
        )

    def propose(self, number: int, params: Mapping[str, Plain]) -> None:
        """Note a proposal."""
        row = (self._definition, number, json.dumps(dict(params)))
        self._database.execute("insert or ignore into proposals values (?, ?, ?)", row)

    def judge(self, trial_key: str, epoch: int, value: float, *, is_stop: bool) -> None:
        """Note a verdict."""
        row = (self._definition, trial_key, epoch, value, is_stop)
        self._database.execute("insert or ignore into verdicts values (?, ?, ?, ?, ?)", row)
