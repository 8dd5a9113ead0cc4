"""The durable log of what a plan has decided, in the sweep's journal.

A decision is appended before it takes effect, so that a driver may die between any two of them,
and is never made a second time: what the log says stands.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import TypeAdapter

from search_spaces.plans.decisions import (
    Cell,
    Continue,
    Decision,
    Done,
    EndSearch,
    Event,
    Pause,
    Propose,
    ProposeRandom,
    Select,
    Stop,
    WarmStart,
)
from sweeps.execution.cells.journal import Journal
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest

if TYPE_CHECKING:
    from search_spaces.plans.base import Definition as Declared

_TABLE = (
    "create table if not exists decisions (definition text not null, subject text not null,"
    " kind text not null, content text not null, primary key (definition, subject))"
)

_KINDS: dict[type[Decision], str] = {  # as stored
    Propose: "propose",
    ProposeRandom: "draw",
    Stop: "stop",
    Pause: "pause",
    Continue: "continue",
    WarmStart: "warmstart",
    EndSearch: "enough",
    Select: "choose",
    Done: "done",
}
_ADAPTERS = {kind: TypeAdapter[Any](decision) for decision, kind in _KINDS.items()}


class Decider(Protocol):
    """What makes decisions: a plan itself, or the adapter of a plan such as a search."""

    def decide(self, definition: "Declared", journal: Any, event: Event) -> Sequence[Decision]:
        """Return what follows from an event."""
        ...

    def nothing_known(
        self, keys: Mapping[tuple[str, int], str], num_epochs: Mapping[str, int]
    ) -> Any:
        """Return the state of an empty journal."""
        ...

    def reason(self, stop: Stop) -> str:
        """Return why a trial was stopped, as one line for its record."""
        ...


class DecisionLog:
    """The decisions of one definition in a sweep's journal.

    Args:
        journal: The sweep's journal, open.
        definition: Hash of all that determines them; decisions of others are ignored.
    """

    def __init__(self, journal: Journal, definition: str) -> None:
        self._database = journal.database
        self._definition = definition

    def entries(self) -> list[Decision]:
        """Return every decision, in the order in which it was made. Writes nothing.

        Raises:
            BadInput: If one of them cannot be read.
        """
        if not self._has_table():
            return []
        rows: list[tuple[str, str]] = self._database.execute(
            "select kind, content from decisions where definition = ? order by rowid",
            (self._definition,),
        ).fetchall()
        try:
            return [_decision(kind, content) for kind, content in rows]
        except (ValueError, RecursionError) as error:
            raise BadInput(
                "The journal of this sweep is damaged: a decision in it cannot be read. "
                "`capsweep repair` archives it; its content is restored from the manifest and the "
                "cells' folders."
            ) from error

    def append(self, decision: Decision) -> None:
        """Write a decision before it takes effect; the first one about a subject stays valid."""
        self._database.execute(_TABLE)
        subject = _subject(decision)
        if isinstance(decision, Select):  # with more proposals another may follow
            subject += str(self._count())
        kind = _KINDS[type(decision)]
        row = (self._definition, subject, kind, json.dumps(asdict(decision)))
        self._database.execute("insert or ignore into decisions values (?, ?, ?, ?)", row)

    def adopt(self, manifest: Manifest, at_start: Iterable[Cell] = ()) -> None:
        """Write the decisions that an earlier launch's manifest has and this journal lacks.

        The journal lies in the storage folder, the manifest in the tracking store; either one is
        enough to resume. Choices are not adopted: with more proposals they may differ.

        Args:
            manifest: Manifest of an earlier launch.
            at_start: Cells that the sweep declares, which are no decisions.
        """
        known = self.entries()
        noted = {_subject(decision) for decision in known}
        proposed = [
            cell for decision in known if isinstance(decision, Propose) for cell in decision.cells
        ]
        known_places = {cell.place for cell in (*proposed, *at_start)}
        for decision in decisions_of(manifest, self._definition):
            is_known = type(decision) is Propose and decision.cells[0].place in known_places
            if not is_known and _subject(decision) not in noted:
                self.append(decision)

    def forget(self) -> None:
        """Delete the decisions, so that the sweep starts over."""
        if self._has_table():
            statement = "delete from decisions where definition = ?"
            self._database.execute(statement, (self._definition,))

    def _count(self) -> int:
        query = "select count(*) from decisions where definition = ?"
        return self._database.execute(query, (self._definition,)).fetchone()[0]

    def _has_table(self) -> bool:
        query = "select 1 from sqlite_master where type = 'table' and name = 'decisions'"
        return self._database.execute(query).fetchone() is not None


def definitions_in(journal: Journal) -> list[str]:
    """Return the hashes of all definitions that a journal has decisions of."""
    tables = journal.database.execute("select name from sqlite_master where type = 'table'")
    if ("decisions",) not in tables.fetchall():
        return []
    rows = journal.database.execute("select distinct definition from decisions")
    return sorted(definition for (definition,) in rows if isinstance(definition, str))


def decisions_of(manifest: Manifest, definition: str) -> list[Decision]:
    """Return the decisions that a manifest holds, if they belong to this definition."""
    decisions: list[Decision] = []
    if manifest.search and manifest.search.definition == definition:
        if warm := manifest.search.warm_start:
            decisions.append(WarmStart(warm.sweep, warm.points, warm.num_fitting))
        decisions += [
            _proposal(proposal.number, proposal.params, manifest.seeds)
            for proposal in manifest.search.proposals
        ]
    elif manifest.plan and manifest.plan.definition == definition:
        changes = {arm.name: arm.changes for arm in manifest.arms}
        decisions += [
            Propose((Cell(cell.arm, changes[cell.arm], cell.seed),)) for cell in manifest.cells
        ]
    else:
        return []
    if random := manifest.random_reference:
        decisions += [
            ProposeRandom(
                tuple(Cell(one.arm, one.params, seed) for seed in manifest.seeds), random.seed
            )
            for one in random.draws
        ]
    stops = ((cell.trial_key, cell.stopped) for cell in manifest.cells)
    decisions += [Stop(key, stopped.epoch, stopped.value) for key, stopped in stops if stopped]
    if manifest.search and (ended := manifest.search.ended):
        decisions.append(EndSearch(ended.reason, ended.until, len(manifest.search.proposals)))
    return decisions


def _proposal(number: int, params: dict[str, Any], seeds: Sequence[int]) -> Propose:
    return Propose(tuple(Cell(name_of_proposal(number), params, seed) for seed in seeds))


def name_of_proposal(number: int) -> str:
    """Return the name of a proposal of a search."""
    return f"proposal {number}"


def name_of_draw(number: int) -> str:
    """Return the name of a random point that a search is compared with."""
    return f"random {number}"


def _subject(decision: Decision) -> str:
    """Return the subject of a decision; only the first decision about a subject is valid."""
    match decision:
        case ProposeRandom(cells):
            return f"draw {decision.random_seed} {cells[0].seed} {cells[0].arm}"
        case Propose(cells):
            return f"propose {cells[0].seed} {cells[0].arm}"
        case Stop() | Continue():
            return f"verdict {decision.trial_key} {decision.epoch}"
        case Pause():
            return f"pause {decision.trial_key} {decision.epoch}"
        case EndSearch():
            return f"enough {decision.num_proposals} {decision.until}"
        case _:
            return _KINDS[type(decision)]


def _decision(kind: str, content: str) -> Decision:
    """Read a decision.

    Raises:
        ValueError: If it is not valid.
    """
    if kind not in _ADAPTERS:
        raise ValueError(f"there is no decision {kind!r}")
    decision = _ADAPTERS[kind].validate_json(content)
    if isinstance(decision, Propose) and not decision.cells:
        raise ValueError("a proposal has no cells")
    return decision
