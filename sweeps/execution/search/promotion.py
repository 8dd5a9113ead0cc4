"""The schedulers of a search: stop the hopeless early, or promote the best of each rung.

Pure functions of what is known. They judge arms by the mean over their seeds; under promotion a
seed waits for the other seeds of its arm before it trains on.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice

from search_spaces.plans.decisions import WAIT, Continue, Decision, Pause, Stop
from search_spaces.plans.scheduler import Scheduler
from search_spaces.plans.search import BASE, Search
from sweeps.execution.search.curves import as_rival
from sweeps.execution.search.measures import Measures
from sweeps.execution.search.observation import is_candidate
from sweeps.execution.search.promotion_order import RungResult, promotion_order
from sweeps.execution.search.search_known import SearchKnown


class StoppingJudge:
    """A scheduler that stops trials for good at its rungs.

    Args:
        scheduler: Says which share of how many trials trains on.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._rungs = cache(scheduler.rungs)

    def room(self, known: SearchKnown, *, is_last: bool) -> Sequence[Decision]:
        """Return no decisions for a free slot, as no trial waits for one."""
        del known, is_last
        return ()

    def verdict(self, known: SearchKnown, trial_key: str) -> Sequence[Decision]:
        """Judge an arm, once, at the last rung that all of its seeds have passed.

        The base and random points are not judged, as others are compared with them, nor are arms
        whose training ends by itself or has diverged. If a kill came between the stops of an arm,
        its other trials are stopped too.
        """
        arm = known.arm_of(trial_key)
        if arm is None:
            return ()
        trials = {} if arm == BASE else known.siblings(trial_key)
        going = [
            key
            for key, trial in trials.items()
            if trial.is_open
            and key not in known.stops
            and not known.curves.has_reached_target(key)
            and max(trial.epochs, default=0) < known.num_epochs[arm]  # else it has no more to save
        ]
        if stop := next((known.stops[key] for key in trials if key in known.stops), None):
            reached = [key for key in going if max(trials[key].epochs, default=0) >= stop.epoch]
            return tuple(Stop(key, stop.epoch, stop.value) for key in reached)
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
        value_of_arm = scheduler.score(known.curves.costs(key, rung))
        rivals = known.curves.rivals(key, rung)
        if is_hopeless(value_of_arm, rivals, scheduler.surviving_share, scheduler.min_rivals):
            return tuple(Stop(trial_key, rung, value) for trial_key in going)
        return (Continue(key, rung),)


def is_hopeless(value: float, rivals: Sequence[float], share: float, min_rivals: int) -> bool:
    """Return whether a trial is stopped at a rung. The cost is independent of the number of rivals.

    Args:
        value: The trial's objective at the rung; small is good.
        rivals: The objectives of the others there, ascending and finite.
        share: Share of the trials that trains on.
        min_rivals: How many rivals a verdict needs.
    """
    if len(rivals) < min_rivals or not math.isfinite(value):
        return False
    return value > quantile(rivals, 100 * share / 100)


def quantile(ascending: Sequence[float], share: float) -> float:
    """Return the quantile of ascending values, equal to `numpy.percentile` to the bit.

    Between two values it is interpolated from the nearer one.
    """
    position = (len(ascending) - 1) * share
    index = math.floor(position)
    if index + 1 >= len(ascending):
        return ascending[-1]
    low, high, part = ascending[index], ascending[index + 1], position - index
    return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part


def rung_to_judge(rungs: Sequence[int], passed: float, judged: Collection[int]) -> int | None:
    """Return the last rung that an arm has passed, None if it was judged there or later.

    Usually the arm has just reached it. If a process died between an epoch and its verdict, the
    verdict comes later. An arm is never judged twice at a rung, as later rivals could change the
    verdict.

    Args:
        rungs: Ascending.
        passed: The last epoch of all seeds together.
        judged: Rungs at which a verdict fell.
    """
    rung = max((rung for rung in rungs if rung <= passed), default=None)
    return None if rung is None or rung <= max(judged, default=0) else rung


class Promotion:
    """A scheduler that pauses trials at rungs, promotes the best, and stops the rest at the end.

    Proposals are compared at a rung within their bracket.

    Args:
        search: A search with such a scheduler.
        measures: The costs of points.
    """

    def __init__(self, search: Search, measures: Measures) -> None:
        self._share_going_on = search.scheduler.surviving_share
        self._num_wanted = search.confirm.best if search.confirm else 1
        self._measures = measures
        self._costs: dict[str, float] = {}  # by trial key

    def verdict(self, known: SearchKnown, trial_key: str) -> Sequence[Decision]:
        """Return the decisions after an epoch of a trial: whether it waits at its rung.

        A trial beyond a rung counts as promoted there: by a launch whose log was lost, or
        because another sweep trained it. If one seed of a proposal was promoted, all are.
        """
        trial, curves = known.by_key(trial_key), known.curves
        arm, last_epoch = known.arm_of(trial_key), max(trial.epochs, default=0)
        if arm is None or arm == BASE or curves.has_reached_target(trial_key):
            return ()
        if not trial.is_open or trial_key in known.stops:
            return ()
        promoted = {
            rung
            for key, sibling in known.siblings(trial_key).items()
            for rung in sibling.judged
            if key not in known.stops or rung != known.stops[key].epoch
        }
        decisions: list[Decision] = []
        for rung in known.rungs(known.number_of(trial_key)):
            if rung > last_epoch:
                break
            is_passed = rung < last_epoch and rung not in trial.pauses
            if rung in promoted or is_passed:
                decisions += [Continue(trial_key, rung)] * (rung not in trial.judged)
            elif rung in trial.pauses or not math.isfinite(curves.of(trial_key)[rung]):
                break
            else:
                return (*decisions, Pause(trial_key, rung))
        return decisions

    def room(self, known: SearchKnown, *, is_last: bool) -> Sequence[Decision]:
        """Return the decisions for a free slot, before anything new is proposed.

        Args:
            known: The state of the search.
            is_last: Whether nothing new will be proposed.
        """
        return self._promoted(known) or (self._at_the_end(known) if is_last else ())

    def _promoted(self, known: SearchKnown) -> Sequence[Continue]:
        """Promote the first of the highest rung that has one to promote."""
        reached: dict[tuple[int, int], list[RungResult]] = defaultdict(list)
        for rung, result in self._reached(known):
            reached[-rung, known.bracket(result.number)].append(result)
        for (rung, _), results in sorted(reached.items()):
            num_best = math.floor(len(results) * self._share_going_on + 1e-9)
            for number in islice(promotion_order(results), num_best):
                if waiting := _promotable(known, number, -rung):
                    return [Continue(key, -rung) for key in waiting]
        return ()

    def _at_the_end(self, known: SearchKnown) -> Sequence[Decision]:
        """Return the decisions on waiting trials once nothing more is proposed or promoted.

        The best of the highest rung are resumed until enough proposals have full length; then, or
        if none is left to resume, all waiting trials are stopped.
        """
        if known.is_running:
            return (WAIT,)
        complete = {
            known.first_key(number)
            for number, observation in enumerate(known.observations)
            if is_candidate(observation)
        }
        reached: dict[int, list[RungResult]] = defaultdict(list)
        for rung, result in self._reached(known):
            reached[rung].append(result)
        best = [
            [Continue(key, rung) for key in waiting]
            for rung in sorted(reached, reverse=True)
            for number in promotion_order(reached[rung])
            if (waiting := _promotable(known, number, rung))
        ]
        missing = best[: max(0, self._num_wanted - len(complete))]
        return [decision for decisions in missing for decision in decisions] or list(_stops(known))

    def _reached(self, known: SearchKnown) -> Iterator[tuple[int, RungResult]]:
        """Yield each rung that a proposal has reached, with its result there."""
        for number, name in enumerate(known.names):
            key = known.first_key(number)
            if known.arm_of(key) != name:  # a trial belongs to its first arm
                continue
            for rung in known.rungs(number):
                value = known.curves.value(key, rung)
                if value is None:
                    break
                yield rung, self._result(known, number, value)
                if not math.isfinite(value):  # it has diverged on its way to this rung
                    break

    def _result(self, known: SearchKnown, number: int, value: float) -> RungResult:
        is_finite = math.isfinite(value)
        cost = self._cost(known, number) if is_finite else math.inf  # however cheap it is
        return RungResult(
            number, (as_rival(known.cost(value)), cost), known.violation(known.names[number])
        )

    def _cost(self, known: SearchKnown, number: int) -> float:
        """Return the second objective of a proposal, equal for all if there is none."""
        key = known.first_key(number)
        if key not in self._costs:
            self._costs[key] = next(iter(self._measures.costs(known.params[number])), 0.0)
        return self._costs[key]


def judge_of(search: Search, measures: Measures) -> StoppingJudge | Promotion:
    """Return the scheduler of a search."""
    scheduler = search.scheduler
    return Promotion(search, measures) if scheduler.pauses else StoppingJudge(scheduler)


def _promotable(known: SearchKnown, number: int, rung: int) -> list[str]:
    """Return a proposal's trials that wait at a rung, none if one of its seeds ended badly."""
    key = known.first_key(number)
    trials = known.siblings(key)
    is_lost = any(trial.ended in {"failed", "pruned", "diverged"} for trial in trials.values())
    return [] if is_lost else [key for key, trial in trials.items() if trial.waits_at == rung]


def _stops(known: SearchKnown) -> Iterator[Stop]:
    """Yield a stop for each waiting trial, at its rung."""
    waiting: Mapping[str, int] = known.waiting
    for number in range(len(known.names)):
        for key in known.siblings(known.first_key(number)):
            if (rung := waiting.get(key)) is not None:
                mean, value_of_arm = known.curves.value(key, rung), known.curves.of(key)[rung]
                yield Stop(key, rung, value_of_arm if mean is None or math.isnan(mean) else mean)
