"""Stopping the hopeless early: a pure function of the curves that were recorded.

Judged are arms, by the mean over their seeds: siblings go on together or are stopped together.
"""

import math
from collections.abc import Collection, Sequence
from functools import cache

from search_spaces.plans.decisions import Continue, Decision, Stop
from search_spaces.plans.scheduler import Scheduler
from search_spaces.plans.search import BASE
from sweeps.execution.search.search_known import SearchKnown


class Stopping:
    """Who of a search is stopped for good, at the rungs of its scheduler.

    Args:
        scheduler: Which share it keeps, of how many.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._rungs = cache(scheduler.rungs)

    def room(self, known: SearchKnown, *, is_last: bool) -> Sequence[Decision]:
        """Return that nothing follows from room for another trial, as nobody waits for it."""
        del known, is_last
        return ()

    def verdict(self, known: SearchKnown, trial_key: str) -> Sequence[Decision]:
        """Judge an arm at the last rung that all of its seeds have passed, once.

        None falls on the base and on random points, which others are held against; where a training
        ends by itself, be it before its full length; and where one has diverged, which is an ending
        of its own. Where a kill came between the stops of an arm, its other trials are stopped too.
        """
        arm = known.arm_of(trial_key)
        if arm is None:
            return ()
        trials = {} if arm == BASE else known.siblings(trial_key)
        going = [
            key
            for key, trial in trials.items()
            if trial.is_open and key not in known.stops and not known.curves.has_reached_target(key)
        ]
        if stop := next((known.stops[key] for key in trials if key in known.stops), None):
            come = [key for key in going if max(trials[key].epochs, default=0) >= stop.epoch]
            return tuple(Stop(key, stop.epoch, stop.value) for key in come)
        judged = {epoch for trial in trials.values() for epoch in trial.judged}
        rungs = self._rungs(known.num_epochs[arm])
        rung = rung_to_judge(rungs, known.curves.passed(trial_key), judged) if going else None
        value = known.curves.value(trial_key, rung) if rung else None
        if rung is None or value is None or not math.isfinite(value):
            return ()
        return self._judged(known, going, rung, value)

    def _judged(
        self, known: SearchKnown, going: Sequence[str], rung: int, value: float
    ) -> Sequence[Decision]:
        scheduler, key = self._scheduler, going[0]
        own = scheduler.own(known.curves.costs(key, rung))
        rivals = known.curves.rivals(key, rung)
        if is_hopeless(own, rivals, scheduler.kept, scheduler.min_rivals):
            return tuple(Stop(trial_key, rung, value) for trial_key in going)
        return (Continue(key, rung),)


def is_hopeless(value: float, rivals: Sequence[float], kept: float, min_rivals: int) -> bool:
    """Return whether a trial is stopped at a rung. Costs the same however many rivals there are.

    Args:
        value: The trial's objective at the rung; small is good.
        rivals: The objective of the others there, ascending and finite.
        kept: Share of the trials that goes on.
        min_rivals: How many rivals a verdict needs.
    """
    if len(rivals) < min_rivals or not math.isfinite(value):
        return False
    return value > quantile(rivals, 100 * kept / 100)


def quantile(ascending: Sequence[float], share: float) -> float:
    """Return what a share of ascending values lies below, to the bit as `numpy.percentile` does.

    Between two values it goes straight, from the nearer one.
    """
    position = (len(ascending) - 1) * share
    index = math.floor(position)
    if index + 1 >= len(ascending):
        return ascending[-1]
    low, high, part = ascending[index], ascending[index + 1], position - index
    return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part


def rung_to_judge(rungs: Sequence[int], passed: float, judged: Collection[int]) -> int | None:
    """Return the rung that an arm has passed last, None if a verdict fell there or later.

    Usually it has just been reached. Where a process died between an epoch and its verdict, that
    falls later. A verdict that fell is never asked for again, as rivals that came later could turn
    it round.

    Args:
        rungs: Ascending.
        passed: The last epoch of all seeds together.
        judged: Rungs at which a verdict fell.
    """
    rung = max((rung for rung in rungs if rung <= passed), default=None)
    return None if rung is None or rung <= max(judged, default=0) else rung
