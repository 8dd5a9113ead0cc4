"""The durable account of a search: what was proposed, and what its scheduler decided.

It lies in the sweep's journal. A proposal is noted before its cells are handed out and a verdict
before it takes effect, so that a driver may die between any two lines.
"""

import json
from dataclasses import dataclass

from sweeps.execution.cells.journal import Journal
from sweeps.records.manifest import Manifest, Plain, Stopped


@dataclass(frozen=True)
class Verdict:
    """What a scheduler decided about a trial at a rung.

    Attributes:
        epoch: The rung.
        value: The objective there.
        is_stop: Whether the trial ended there.
    """

    trial_key: str
    epoch: int
    value: float
    is_stop: bool


class SearchAccount:
    """What one sweep's journal knows of one definition of a search.

    Args:
        journal: Of the sweep, open.
        definition: Hash of the search's definition; what belongs to another is not seen.
    """

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

    def proposals(self) -> list[dict[str, Plain]]:
        """Return the params of every proposal, in order."""
        rows = self._database.execute(
            "select params from proposals where definition = ? order by number",
            (self._definition,),
        )
        return [json.loads(params) for (params,) in rows]

    def propose(self, number: int, params: dict[str, Plain]) -> None:
        """Note a proposal."""
        self._database.execute(
            "insert or ignore into proposals values (?, ?, ?)",
            (self._definition, number, json.dumps(params)),
        )

    def verdicts(self) -> list[Verdict]:
        """Return every verdict, in the order in which they fell."""
        rows = self._database.execute(
            "select trial_key, epoch, value, is_stop from verdicts where definition = ?"
            " order by rowid",
            (self._definition,),
        )
        return [Verdict(key, epoch, value, bool(is_stop)) for key, epoch, value, is_stop in rows]

    def judge(self, verdict: Verdict) -> None:
        """Note a verdict; the first one at a rung stands."""
        row = (self._definition, *vars(verdict).values())
        self._database.execute("insert or ignore into verdicts values (?, ?, ?, ?, ?)", row)

    def forget(self) -> None:
        """Drop the proposals and verdicts, so that the search begins anew."""
        for table in ("proposals", "verdicts"):
            self._database.execute(f"delete from {table} where definition = ?", (self._definition,))

    def adopt(self, manifest: Manifest) -> None:
        """Note what the manifest of an earlier launch holds and this journal has lost.

        The journal lies in the storage folder, the manifest in the tracking store: either alone
        is enough to go on.
        """
        search = manifest.search
        if search is None or search.definition != self._definition:
            return
        for proposal in search.proposals:
            self.propose(proposal.number, proposal.params)
        for cell in manifest.cells:
            if cell.stopped:
                epoch, value = cell.stopped.epoch, cell.stopped.value
                self.judge(Verdict(cell.trial_key, epoch, value, is_stop=True))

    def stopped(self) -> dict[str, Stopped]:
        """Return where trials were stopped, by trial key."""
        return {
            one.trial_key: Stopped(epoch=one.epoch, value=one.value)
            for one in self.verdicts()
            if one.is_stop
        }
