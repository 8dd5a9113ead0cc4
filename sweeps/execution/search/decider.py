"""What a search decides: a pure function of its declaration and of what is known.

Optuna proposes, the scheduler's rungs stop, the best are chosen once all have ended.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache

from search_spaces.plans.base import Definition
from search_spaces.plans.decisions import (
    DONE,
    WAIT,
    Cell,
    Choose,
    Continue,
    Decision,
    EpochTold,
    Event,
    Propose,
    SlotFree,
    Stop,
)
from search_spaces.plans.objective import measured_objective
from search_spaces.plans.search import Search
from sweeps.execution.plan.decision_log import name_of_proposal
from sweeps.execution.search.choice import best_arms, median_of_startup
from sweeps.execution.search.proposals import Proposer
from sweeps.execution.search.rungs import is_hopeless, rung_to_judge
from sweeps.execution.search.search_known import SearchKnown


class SearchDecider:
    """The adapter of a search: remembers what would cost to build anew, and nothing that decides.

    Args:
        search: As declared.
        definition: Of its sweep.
    """

    def __init__(self, search: Search, definition: Definition) -> None:
        self._search = search
        self._objective = measured_objective(search.objective, definition)
        self._proposer = Proposer(search)
        self._rungs = cache(search.scheduler.rungs)

    def nothing_known(
        self, keys: Mapping[tuple[str, int], str], num_epochs: Mapping[str, int]
    ) -> SearchKnown:
        """Return the fold of an empty journal."""
        return SearchKnown(self._objective, keys, num_epochs)

    def decide(
        self, definition: Definition, journal: SearchKnown, event: Event
    ) -> Sequence[Decision]:
        """Return what follows from an event."""
        match event:
            case SlotFree():
                return (self._next(definition, journal),)
            case EpochTold(trial_key):
                return self._verdict(journal, trial_key)
            case _:
                return ()

    def reason(self, stop: Stop) -> str:
        """Return why a trial was stopped, in one line of its record."""
        return (
            f"stopped by {self._search.scheduler.kind} after epoch {stop.epoch}, "
            f"{self._search.objective} {stop.value:.6g}"
        )

    def _next(self, definition: Definition, known: SearchKnown) -> Decision:
        number = len(known.params)
        if number < self._search.trials:
            params = self._proposer.propose(known.params, known.weighed)
            name = name_of_proposal(number)
            return Propose(tuple(Cell(name, params, seed) for seed in definition.arm_seeds))
        if self._search.confirm is None or known.chosen:
            return DONE
        return WAIT if known.is_open else self._choice(known, self._search.confirm.best)

    def _choice(self, known: SearchKnown, count: int) -> Choose:
        same = [known.first_key(number) for number in range(len(known.params))]
        best = best_arms(known.weighed, same, count)
        reference = median_of_startup(known.weighed, self._search)
        return Choose(
            tuple(known.names[number] for number in best),
            None if reference is None else known.names[reference],
            self._search.question(),
        )

    def _verdict(self, known: SearchKnown, trial_key: str) -> Sequence[Decision]:
        """Judge a trial at the last rung that it has passed, once.

        None falls where a training ends by itself, be it before its full length, and where it has
        diverged, which is an ending of its own.
        """
        curve = known.curves.of(trial_key)
        if known.curves.has_reached_target(trial_key):
            return ()
        rungs = self._rungs(known.num_epochs[known.arm_of(trial_key)])
        rung = rung_to_judge(rungs, curve, known.by_key(trial_key).judged)
        if rung is None or not math.isfinite(curve[rung]):
            return ()
        scheduler, value = self._search.scheduler, curve[rung]
        rivals = known.curves.rivals(trial_key, rung)
        if is_hopeless(known.curves.cost(value), rivals, scheduler.kept, scheduler.min_rivals):
            return (Stop(trial_key, rung, value),)
        return (Continue(trial_key, rung),)
