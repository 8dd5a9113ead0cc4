"""The plan of a launch while it runs: events of the engine in, orders and stops out.

It asks the plan what follows from each event, notes each decision in the log, and only then lets it
take effect. What was decided before is taken from the log and never asked for again. A driver's
death may have swallowed a verdict or its telling, and another sweep may have brought a trial
further: facts are read from the cells' folders as they are found.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from search_spaces.plans.base import Definition as Declared
from search_spaces.plans.decisions import (
    CellEnded,
    Choose,
    Continue,
    Decision,
    Done,
    EpochTold,
    Event,
    Propose,
    SlotFree,
    Stop,
)
from search_spaces.plans.known import Known
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.plan.decision_log import DecisionLog
from sweeps.execution.plan.growing_definition import GrowingDefinition
from sweeps.execution.plan.trial_facts import TrialFacts
from sweeps.execution.worker.trial import TrialOrder
from sweeps.records.cell_contents import TrialHead
from sweeps.records.manifest import ManifestCell
from sweeps.records.manifest_growth import ManifestLine
from sweeps.records.trial_record import Outcome


class Decider(Protocol):
    """Who decides: a plan itself, or the adapter of one that needs more than plain Python."""

    def decide(self, definition: Declared, journal: Any, event: Event) -> Sequence[Decision]:
        """Return what follows from an event."""
        ...

    def nothing_known(
        self, keys: Mapping[tuple[str, int], str], num_epochs: Mapping[str, int]
    ) -> Any:
        """Return the fold of an empty journal."""
        ...

    def reason(self, stop: Stop) -> str:
        """Return why a trial was stopped, in one line of its record."""
        ...


class Heads(Protocol):
    """Who knows what a trial of a cell is told."""

    def head(self, cell: ManifestCell) -> TrialHead:
        """Return it."""
        ...


class Audience(Protocol):
    """Who wants to know how a sweep grows: the live view, the recorder, the manifest."""

    def grown(self, line: ManifestLine) -> None:
        """The manifest has grown by a line."""
        ...


Order = Callable[[Heads, ManifestCell], TrialOrder]


class Conductor:
    """The plan of a launch. Not thread-safe: one loop asks and tells.

    Args:
        definition: With all that earlier launches proposed and decided.
        decider: Who decides what follows.
        log: Where decisions are noted.
        order: What a worker needs to train a cell of a definition.
        facts: What the cells' folders and the tracking store tell.
        audience: Told of everything new.

    Attributes:
        known: The fold of the journal.
    """

    def __init__(
        self,
        definition: GrowingDefinition,
        decider: Decider,
        log: DecisionLog,
        order: Order,
        facts: TrialFacts,
        audience: Audience,
    ) -> None:
        self.definition = definition
        self.known: Known = decider.nothing_known(definition.manifest.keys, definition.epochs)
        self._decider = decider
        self._log = log
        self._order = order
        self._facts = facts
        self._audience = audience
        self._handed_out: set[str] = set()
        self._searched: dict[str, None] = {}  # trial keys of what was proposed, in order
        self._open: dict[str, None] = {}
        self._take_log()
        self._waiting = deque(definition.manifest.cells)

    def _take_log(self) -> None:
        """Take up what was decided, and what has become of it since."""
        entries = [entry for entry in self._log.entries() if not isinstance(entry, Choose)]
        there = self.definition.manifest.keys
        proposed = [entry for entry in entries if isinstance(entry, Propose)]
        at_start = self.definition.declared.sweep.plan.cells_at_start(
            self.definition.declared.sweep
        )
        for proposal in [Propose(at_start)] * bool(at_start) + proposed:
            if all(cell.place in there for cell in proposal.cells):
                self.known.take(proposal)
                self._searched |= dict.fromkeys(there[cell.place] for cell in proposal.cells)
        self._open |= self._searched
        for entry in entries:
            if not isinstance(entry, Propose):
                self._take(entry)
        self._take_up(self._searched)
        manifest = self.definition.manifest
        if manifest.choice and self._open and self.definition.declared.manifest.search:
            self._audience.grown(self.definition.unchoose())
        if choice := manifest.choice:
            self.known.take(Choose(choice.arms, choice.reference))

    def more(self) -> list[TrialOrder]:
        """Return the cells to train next, none where the running ones have to end first."""
        while True:
            if orders := self._hand_out():
                return orders
            for key in list(self._open):
                self._look(key)
            decisions = self._decide(SlotFree())
            if not any(isinstance(decision, Propose | Choose) for decision in decisions):
                return []

    def judge(self, trial_key: str, epoch: int, metrics: Mapping[str, Any]) -> bool:
        """Hear of an epoch; return whether the trial is stopped there."""
        if trial_key not in self._searched:
            return False
        told = EpochTold(trial_key, epoch, {**metrics, **metrics.get("metrics", {})})
        self.known.take(told)
        self._decide(told)
        return self.known.by_key(trial_key).stopped is not None

    def why_stopped(self, trial_key: str) -> str:
        """Return why a trial was stopped, "" if it was not.

        One whose process was killed may have told of an epoch that nobody judged: that is now.
        """
        if trial_key not in self._searched:
            return ""
        self._learn(trial_key)
        self._judge(trial_key)
        stopped = self.known.by_key(trial_key).stopped
        return self._decider.reason(stopped) if stopped else ""

    def ended(self, trial_key: str, outcome: Outcome) -> None:
        """Hear that a trial has ended: its cell is filled, stopped, or stays empty."""
        if trial_key not in self._searched:
            return
        if outcome is Outcome.FAILED:
            self._end(CellEnded(trial_key, "failed"))
        self._look(trial_key)

    def _decide(self, event: Event) -> Sequence[Decision]:
        """Ask what follows from an event, and let it take effect."""
        sweep = self.definition.declared.sweep
        decisions = self._decider.decide(sweep, self.known, event)
        for decision in decisions:
            self._follow(decision)
        return decisions

    def _follow(self, decision: Decision) -> None:
        """Note a decision, then let it take effect."""
        match decision:
            case Propose(cells) if cells:
                self._propose(decision)
            case Stop():
                self._log.append(decision)
                self._take(decision)
                self._audience.grown(self.definition.stop(decision))
            case Continue():
                self._log.append(decision)
                self._take(decision)
            case Choose():
                self._log.append(decision)
                self._take(decision)
                line = self.definition.choose(decision)
                self._waiting.extend(line.cells)
                self._audience.grown(line)
            case Done() if not self.known.is_over:
                self._log.append(decision)
                self._take(decision)
                self._audience.grown(self.definition.end())
            case _:
                pass

    def _propose(self, decision: Propose) -> None:
        stops = self.known.stops
        line = self.definition.propose(decision.cells, stops)  # may refuse: nothing is noted then
        self._log.append(decision)
        self._take(decision)
        keys = [cell.trial_key for cell in line.cells]
        self._searched |= dict.fromkeys(keys)
        self._open |= {key: None for key in keys if self.known.by_key(key).is_open}
        self._waiting.extend(line.cells)
        self._audience.grown(line)
        self._take_up(dict.fromkeys(keys))

    def _take(self, entry: Decision | CellEnded) -> None:
        self.known.take(entry)
        if isinstance(entry, Stop | CellEnded):
            self._open.pop(entry.trial_key, None)

    def _hand_out(self) -> list[TrialOrder]:
        """Return orders for those cells that are open and that nobody was given yet."""
        orders: list[TrialOrder] = []
        while self._waiting:
            cell = self._waiting.popleft()
            if cell.trial_key in self._handed_out or self._is_closed(cell):
                continue
            self._handed_out.add(cell.trial_key)
            orders.append(self._order(self.definition, cell))
        return orders

    def _is_closed(self, cell: ManifestCell) -> bool:
        if cell.trial_key in self._searched:
            self._look(cell.trial_key)
            return not self.known.by_key(cell.trial_key).is_open
        return self._facts.ended(cell.trial_key) is not None

    def _take_up(self, keys: Mapping[str, None]) -> None:
        """Take trials as they are found: learn how far they are, judge them, tell those stopped."""
        for key in keys:
            self._learn(key)
            if ended := self._facts.ended(key):
                self._take(ended)
        for key in keys:
            if self.known.by_key(key).is_open:
                self._judge(key)
        for key in keys:
            if stopped := self.known.by_key(key).stopped:
                self._tell_stopped(key, stopped)

    def _learn(self, trial_key: str) -> None:
        """Read what a trial's folder tells of its epochs."""
        for told in self._facts.epochs(trial_key):
            self.known.take(told)

    def _look(self, trial_key: str) -> None:
        """See whether a trial has ended."""
        if self.known.by_key(trial_key).is_open and (ended := self._facts.ended(trial_key)):
            self._end(ended)

    def _end(self, ended: CellEnded) -> None:
        self._take(ended)
        self._decide(ended)

    def _judge(self, trial_key: str) -> None:
        """Ask for a verdict on what a trial has told of last."""
        epochs = self.known.by_key(trial_key).epochs
        if epochs:
            last = max(epochs)
            self._decide(EpochTold(trial_key, last, epochs[last]))

    def _tell_stopped(self, trial_key: str, stopped: Stop) -> None:
        """Write into a trial's outbox that it was stopped, unless it says so or has gone on."""
        folder: CellFolder = self._facts.folder(trial_key)
        has_gone_on = folder.is_filled() or folder.epochs_done() != stopped.epoch
        if has_gone_on or folder.is_busy() or folder.is_told_pruned():
            return
        cell = self.definition.manifest.cells_of(trial_key)[0]
        head = self._order(self.definition, cell).head
        folder.tell_pruned(head, self._decider.reason(stopped))
