"""A search while it runs: which cells come next, which trials are stopped.

What is decided here is decided by pure functions of what was proposed and how it went
(`proposals`, `rungs`, `choice`); this object only remembers, and notes each decision in the
account before it takes effect.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from search_spaces.plans.search import Search
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.plan.definition import Definition
from sweeps.execution.search.account import SearchAccount, Verdict
from sweeps.execution.search.choice import best_arms, median_of_startup
from sweeps.execution.search.curves import TrialCurves
from sweeps.execution.search.definition_growth import (
    search_cells,
    with_confirmation,
    with_proposal,
    with_stopped,
    without_confirmation,
)
from sweeps.execution.search.observation import Observation, Standing, observe
from sweeps.execution.search.proposals import propose
from sweeps.execution.search.rungs import is_hopeless, rung_to_judge
from sweeps.execution.worker.trial import TrialOrder
from sweeps.records.errors import SweepError
from sweeps.records.manifest import ManifestCell, Stopped
from sweeps.records.trial_record import Outcome, TrialRecord


class Audience(Protocol):
    """Who wants to know how a search grows: the live view, the recorder, the manifest."""

    def grown(self, definition: Definition, cells: Sequence[ManifestCell]) -> None:
        """The definition has changed; these cells are new in it."""
        ...


class SearchPlan:
    """The plan of a launch of a search. Not thread-safe: one loop asks and tells.

    Args:
        definition: With all that earlier launches proposed and decided.
        account: Where decisions are noted.
        cells: Folder of the cells' folders.
        order: What a worker needs to train a cell of a definition.
        audience: Told of everything new.
    """

    def __init__(
        self,
        definition: Definition,
        account: SearchAccount,
        cells: Path,
        order: Callable[[Definition, ManifestCell], TrialOrder],
        audience: Audience,
        record_of: Callable[[str], TrialRecord | None],
    ) -> None:
        assert isinstance(definition.sweep.plan, Search)
        self.definition = definition
        self._search: Search = definition.sweep.plan
        self._account = account
        self._cells = cells
        self._order = order
        self._audience = audience
        self._record_of = record_of
        self._records: dict[str, TrialRecord | None] = {}
        self._is_store_there = True
        self._closed: dict[str, Standing] = {}
        self._handed_out: set[str] = set()
        self._objective = definition.manifest.objective
        self._curves = TrialCurves(self._objective)
        self._judged: dict[str, list[int]] = {}
        for verdict in account.verdicts():
            self._judged.setdefault(verdict.trial_key, []).append(verdict.epoch)
        self._take_up(search_cells(definition))
        if any(one.state == "open" for one in self.observations()):
            self.definition = without_confirmation(self.definition)  # it may turn out another

    def more(self) -> list[TrialOrder]:
        """Return the cells to train next, none where the running ones have to end first."""
        while True:
            if orders := self._hand_out(search_cells(self.definition)):
                return orders
            if len(self.definition.manifest.arms) < self._search.trials:
                self._propose()
            elif self._is_confirming() or not self._choose():
                return self._hand_out(self.definition.manifest.cells)

    def judge(self, trial_key: str, epoch: int, metrics: Mapping[str, float]) -> bool:
        """Hear of an epoch; return whether the trial is stopped there."""
        cell = self._searched(trial_key)
        if cell is None:
            return False
        self._curves.tell(trial_key, epoch, metrics)
        return self._judge(cell)

    def why_stopped(self, trial_key: str) -> str:
        """Return why the scheduler has stopped a trial, "" if it has not.

        One whose process was killed may have told of an epoch that nobody judged: that is now.
        """
        if cell := self._searched(trial_key):
            self._learn(cell)
            self._judge(cell)
        cell = self._searched(trial_key)
        return reason_of_stop(self._search, cell.stopped) if cell and cell.stopped else ""

    def ended(self, trial_key: str, outcome: Outcome) -> None:
        """Hear that a trial has ended: its cell is filled, pruned, or stays empty."""
        if outcome is Outcome.FAILED:
            self._closed[trial_key] = Standing(Outcome.FAILED)

    def observations(self) -> list[Observation]:
        """Return how each proposal went so far, in their order."""
        standings: dict[str, list[Standing]] = {}
        for cell in search_cells(self.definition):
            standings.setdefault(cell.arm, []).append(self._standing(cell))
        return [observe(standings[arm.name]) for arm in self.definition.manifest.arms]

    def _hand_out(self, cells: Sequence[ManifestCell]) -> list[TrialOrder]:
        """Return orders for those cells that are open and that nobody was given yet."""
        orders: list[TrialOrder] = []
        for cell in cells:
            if cell.trial_key not in self._handed_out and self._standing(cell).is_open:
                self._handed_out.add(cell.trial_key)
                orders.append(self._order(self.definition, cell))
        return orders

    def _propose(self) -> None:
        number = len(self.definition.manifest.arms)
        assert self.definition.manifest.search is not None
        proposals = self.definition.manifest.search.proposals
        told = [one.params for one in proposals]
        history = list(zip(told, self._weighed(self.observations()), strict=True))
        params = propose(self._search, number, history)
        grown = with_proposal(self.definition, params, self._account.stopped())
        self._account.propose(number, params)
        new = [cell for cell in search_cells(grown) if cell.arm == grown.manifest.arms[-1].name]
        self._grow(grown, new)
        self._take_up(new)

    def _choose(self) -> bool:
        """Choose the arms to confirm once every proposal has ended; return whether they are."""
        assert self.definition.manifest.search is not None
        observations = self.observations()
        is_over = not any(one.state == "open" for one in observations)
        if self._search.confirm is None or not is_over:
            return False
        keys = {cell.arm: cell.trial_key for cell in search_cells(self.definition)}
        names = [arm.name for arm in self.definition.manifest.arms]
        same = [keys[name] for name in names]
        weighed = self._weighed(observations)
        best = best_arms(weighed, same, self._search.confirm.best)
        reference = median_of_startup(weighed, self._search)
        grown = with_confirmation(
            self.definition,
            [names[number] for number in best],
            None if reference is None else names[reference],
        )
        there = set(search_cells(grown))
        self._grow(grown, [cell for cell in grown.manifest.cells if cell not in there])
        return True

    def _weighed(self, observations: Sequence[Observation]) -> list[Observation]:
        """Return how proposals went with what is to be small as their values."""
        cost = self._objective.cost
        valued = ((one, one.value) for one in observations)
        return [one if value is None else replace(one, value=cost(value)) for one, value in valued]

    def _is_confirming(self) -> bool:
        search = self.definition.manifest.search
        assert search is not None
        is_chosen = search.confirmation is not None and search.confirmation.arms is not None
        return is_chosen and not any(one.state == "open" for one in self.observations())

    def _judge(self, cell: ManifestCell) -> bool:
        """Judge a trial at the last rung that it has passed, once; return whether it ends there.

        None falls where a training ends by itself, be it before its full length.
        """
        if self._curves.has_reached_target(cell.trial_key):
            return False
        curve = self._curves.of(cell.trial_key)
        rung = rung_to_judge(self._rungs(cell), curve, self._judged.get(cell.trial_key, ()))
        # a trial that has diverged has an ending of its own
        return rung is not None and math.isfinite(curve[rung]) and self._decide(cell, rung)

    def _decide(self, cell: ManifestCell, epoch: int) -> bool:
        value = self._curves.of(cell.trial_key)[epoch]
        others = {
            one.trial_key for one in search_cells(self.definition) if one.seed == cell.seed
        } - {cell.trial_key}
        scheduler, cost = self._search.scheduler, self._objective.cost
        rivals = [cost(rival) for rival in self._curves.at(epoch, others)]
        is_stop = is_hopeless(cost(value), rivals, scheduler.kept, scheduler.min_rivals)
        self._account.judge(Verdict(cell.trial_key, epoch, value, is_stop))
        self._judged.setdefault(cell.trial_key, []).append(epoch)
        if is_stop:
            stopped = Stopped(epoch=epoch, value=value)
            self._grow(with_stopped(self.definition, cell.trial_key, stopped), [])
        return is_stop

    def _take_up(self, cells: Sequence[ManifestCell]) -> None:
        """Take trials as they are found: learn how far they are, judge them, tell those stopped.

        A driver's death may have swallowed a verdict or its telling, and another sweep may have
        brought a trial past a rung.
        """
        for cell in cells:
            self._learn(cell)
        for cell in cells:
            if self._standing(cell).is_open:
                self._judge(cell)
        keys = {cell.trial_key for cell in cells}
        for cell in search_cells(self.definition):
            if cell.stopped and cell.trial_key in keys:
                self._tell_stopped(cell, cell.stopped)

    def _tell_stopped(self, cell: ManifestCell, stopped: Stopped) -> None:
        """Write into a trial's outbox that it was stopped, unless it says so or has gone on."""
        folder = CellFolder(self._cells, cell.trial_key)
        has_gone_on = folder.is_filled() or folder.epochs_done() != stopped.epoch
        if has_gone_on or folder.is_busy() or folder.is_told_pruned():
            return
        head = self._order(self.definition, cell).head
        folder.tell_pruned(head, reason_of_stop(self._search, stopped))

    def _grow(self, definition: Definition, cells: Sequence[ManifestCell]) -> None:
        self.definition = definition
        self._audience.grown(definition, cells)

    def _searched(self, trial_key: str) -> ManifestCell | None:
        return next(
            (cell for cell in search_cells(self.definition) if cell.trial_key == trial_key), None
        )

    def _rungs(self, cell: ManifestCell) -> tuple[int, ...]:
        return self._search.scheduler.rungs(self.definition.epochs[cell.arm])

    def _learn(self, cell: ManifestCell) -> None:
        """Read what a trial's folder tells of its epochs."""
        folder = CellFolder(self._cells, cell.trial_key)
        lines, _ = folder.read_outbox()
        final = folder.read_final()
        told = final.curve if final else [line.epoch for line in lines if line.epoch]
        for line in told:
            self._curves.tell(cell.trial_key, line.epoch, line.model_dump())

    def _standing(self, cell: ManifestCell) -> Standing:
        known = self._closed.get(cell.trial_key)
        if known is None:
            known = self._found(cell)
            if not known.is_open:
                self._closed[cell.trial_key] = known
        return known

    def _recorded(self, trial_key: str) -> TrialRecord | None:
        """Return what the tracking store knows of a trial, asked once.

        Training does not wait for a store that has gone away: what it knew is then trained anew.
        """
        if trial_key not in self._records:
            self._records[trial_key] = None
            if self._is_store_there:
                try:
                    self._records[trial_key] = self._record_of(trial_key)
                except SweepError:
                    self._is_store_there = False
        return self._records[trial_key]

    def _found(self, cell: ManifestCell) -> Standing:
        if cell.stopped:
            return Standing(Outcome.PRUNED, cell.stopped.epoch, cell.stopped.value)
        folder = CellFolder(self._cells, cell.trial_key)
        if final := folder.read_final():
            last = final.curve[-1].model_dump() if final.curve else None
            value = self._curves.objective(last) if last else None
            return Standing(final.outcome, len(final.curve), value)
        if folder.outbox_size():
            return Standing()
        record = self._recorded(cell.trial_key)
        if record and record.outcome.is_final:
            value = self._objective.value(record.metrics)
            return Standing(record.outcome, record.epochs, value)
        return Standing()


def reason_of_stop(search: Search, stopped: Stopped) -> str:
    """Return why a trial was stopped, in one line of its record."""
    return (
        f"stopped by {search.scheduler.kind} after epoch {stopped.epoch}, "
        f"{search.objective} {stopped.value:.6g}"
    )
