"""The schedulers of a search: stop the hopeless early, or promote the best of each rung.

Pure functions of what is known. They judge arms by the mean over their seeds; under promotion a
seed waits for the other seeds of its arm before it trains on.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

from search_spaces.plans.decisions import WAIT, Continue, Decision, Pause, Stop
from search_spaces.plans.scheduler import Scheduler
from search_spaces.plans.search import BASE, Search
from sweeps.execution.search.curves import as_rival
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
        value_of_arm = scheduler.own(known.curves.costs(key, rung))
        rivals = known.curves.rivals(key, rung)
        if is_hopeless(value_of_arm, rivals, scheduler.kept, scheduler.min_rivals):
            return tuple(Stop(trial_key, rung, value) for trial_key in going)
        return (Continue(key, rung),)


def is_hopeless(value: float, rivals: Sequence[float], share: float, min_rivals: int) -> bool:
    """Return whether a trial is stopped at a rung. Costs the same however many rivals there are.

    Args:
        value: The trial's objective at the rung; small is good.
        rivals: The objective of the others there, ascending and finite.
        share: Share of the trials that goes on.
        min_rivals: How many rivals a verdict needs.
    """
    if len(rivals) < min_rivals or not math.isfinite(value):
        return False
    return value > quantile(rivals, 100 * share / 100)


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


class Promotion:
    """Who of a search pauses, who is promoted, and who is given up at its end.

    Args:
        search: Whose scheduler pauses trials.
    """

    def __init__(self, search: Search) -> None:
        self._share_going_on = search.scheduler.kept
        self._num_wanted = search.confirm.best if search.confirm else 1
        self._rungs = cache(search.scheduler.rungs)

    def verdict(self, known: SearchKnown, trial_key: str) -> Sequence[Decision]:
        """Return what follows from an epoch of a trial: whether it waits at its rung.

        What is found beyond a rung has been promoted there: by a launch whose journal is lost, or
        another sweep has trained it. Where one seed of a proposal was promoted, all are.
        """
        trial, curves = known.by_key(trial_key), known.curves
        arm, last_epoch = known.arm_of(trial_key), max(trial.epochs, default=0)
        if arm is None or arm == BASE or curves.has_reached_target(trial_key):
            return ()
        if not trial.is_open or trial_key in known.stops:
            return ()
        promoted = {
            rung
            for key, one in known.siblings(trial_key).items()
            for rung in one.judged
            if key not in known.stops or rung != known.stops[key].epoch
        }
        goes_on: list[Decision] = []
        for rung in self._rungs(known.num_epochs[arm]):
            if rung > last_epoch:
                break
            is_passed = rung < last_epoch and rung not in trial.pauses
            if rung in promoted or is_passed:
                goes_on += [Continue(trial_key, rung)] * (rung not in trial.judged)
            elif rung in trial.pauses or not math.isfinite(curves.of(trial_key)[rung]):
                break
            else:
                return (*goes_on, Pause(trial_key, rung))
        return goes_on

    def room(self, known: SearchKnown, *, is_last: bool) -> Sequence[Decision]:
        """Return what follows from room for another trial, before anything new is proposed.

        Args:
            known: Of the search.
            is_last: Whether nothing new will be proposed.
        """
        return self._promoted(known) or (self._at_the_end(known) if is_last else ())

    def _promoted(self, known: SearchKnown) -> Sequence[Continue]:
        """Return that a proposal goes on: of the highest rung that has one to promote, the best."""
        for rung, ranked in self._ranked(known):
            for number in ranked[: math.floor(len(ranked) * self._share_going_on + 1e-9)]:
                if waiting := _promotable(known, number, rung):
                    return [Continue(key, rung) for key in waiting]
        return ()

    def _at_the_end(self, known: SearchKnown) -> Sequence[Decision]:
        """Return what becomes of those that wait when no more is proposed or promoted.

        As many go on as full lengths are missing, the best of the highest rung first; once they are
        there, or nobody is left to go on, all that wait are stopped.
        """
        if known.is_running:
            return (WAIT,)
        complete = {
            known.first_key(number)
            for number, observation in enumerate(known.observations)
            if observation.state == "complete"
        }
        best = [
            [Continue(key, rung) for key in waiting]
            for rung, ranked in self._ranked(known)
            for number in ranked
            if (waiting := _promotable(known, number, rung))
        ]
        missing = best[: max(0, self._num_wanted - len(complete))]
        return [one for each in missing for one in each] or list(_stops(known))

    def _ranked(self, known: SearchKnown) -> Iterator[tuple[int, list[int]]]:
        """Yield the rungs from the highest down, and who has come to each, the best first."""
        at: dict[int, list[tuple[float, int]]] = {}
        for number, name in enumerate(known.names):
            key = known.first_key(number)
            if known.arm_of(key) != name:  # a trial belongs to its first arm
                continue
            for rung in self._rungs(known.num_epochs[name]):
                value = known.curves.value(key, rung)
                if value is None:
                    break
                at.setdefault(rung, []).append((as_rival(known.cost(value)), number))
                if not math.isfinite(value):  # it has diverged on its way to this rung
                    break
        for rung in sorted(at, reverse=True):
            yield rung, [number for _, number in sorted(at[rung])]


def judge_of(search: Search) -> Stopping | Promotion:
    """Return who judges a search's trials at the rungs of its scheduler."""
    return Promotion(search) if search.scheduler.pauses else Stopping(search.scheduler)


def _promotable(known: SearchKnown, number: int, rung: int) -> list[str]:
    """Return the trials of a proposal that wait at a rung, none where it cannot be whole."""
    key = known.first_key(number)
    trials = known.siblings(key)
    is_lost = any(trial.ended in {"failed", "pruned", "diverged"} for trial in trials.values())
    return [] if is_lost else [key for key, one in trials.items() if one.waits_at == rung]


def _stops(known: SearchKnown) -> Iterator[Stop]:
    """Yield that all who wait are stopped where they do."""
    waiting: Mapping[str, int] = known.waiting
    for number in range(len(known.names)):
        for key in known.siblings(known.first_key(number)):
            if (rung := waiting.get(key)) is not None:
                mean, value_of_arm = known.curves.value(key, rung), known.curves.of(key)[rung]
                yield Stop(key, rung, value_of_arm if mean is None or math.isnan(mean) else mean)
