"""The decisions of a search: a pure function of its declaration and its state.

Optuna proposes, the scheduler's rungs stop, the best are chosen once all have ended.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from search_spaces.plans.base import Definition, Plan
from search_spaces.plans.decisions import (
    DONE,
    WAIT,
    Cell,
    CellEnded,
    Decision,
    EndSearch,
    EpochTold,
    Event,
    Propose,
    ProposeRandom,
    Select,
    SlotFree,
    Stop,
)
from search_spaces.plans.ends import SearchProgress
from search_spaces.plans.known import Known
from search_spaces.plans.objective import losses_compare, measured_objective
from search_spaces.plans.search import BASE, Search
from search_spaces.space.forbidden import description_of
from search_spaces.space.proposal import point_of
from search_spaces.sweep import Sweep
from sweeps.execution.plan.definition import LostDecisions
from sweeps.execution.plan.plan_runner import Decider
from sweeps.execution.search.observation import Observation, is_candidate
from sweeps.execution.search.promotion import judge_of
from sweeps.execution.search.random_reference import RandomPoints
from sweeps.execution.search.search_known import SearchKnown
from sweeps.execution.search.within_limits import WithinLimits
from sweeps.records.fronts import spread


def name_of_proposal(number: int) -> str:
    """Return the name of a proposal of a search."""
    return f"proposal {number}"


def name_of_draw(number: int) -> str:
    """Return the name of a random point that a search is compared with."""
    return f"random {number}"


def best_arms(
    observations: Sequence[Observation],
    keys: Sequence[str],
    count: int,
    costs: Sequence[Sequence[float]] = (),
    *,
    by_loss: bool,
) -> list[int]:
    """Return the numbers of the best proposals that ran to full length, the best first.

    Those that have measured more than a limit allows are left out. Between equals the lower
    validation loss wins, then the earlier proposal. With costs, the result are points spread over
    the front, the first with the best value.

    Args:
        observations: The result of each proposal, in order; small is good.
        keys: A key of each configuration: a point that was proposed twice is chosen once.
        count: How many at most.
        costs: The cost of each proposal, in a search with two objectives.
        by_loss: Whether their losses measure the same and can be compared.
    """
    ranked = sorted(
        (observation.value, observation.loss if by_loss else 0.0, number)
        for number, observation in enumerate(observations)
        if is_candidate(observation) and observation.value is not None
    )
    chosen: dict[str, tuple[float, int]] = {}
    for value, _, number in ranked:
        chosen.setdefault(keys[number], (value, number))
    numbers = [number for _, number in chosen.values()]
    if not any(costs):
        return numbers[:count]
    points = [(value, costs[number][0]) for value, number in chosen.values()]
    return [numbers[place] for place in spread(points, count)]


class SearchDecider:
    """The decider of a search. It caches what is expensive to rebuild, but no decision.

    Args:
        search: The search as declared.
        definition: The definition of its sweep.
        lost: Decisions that the log has lost: they are made as they were.
    """

    def __init__(
        self,
        search: Search,
        definition: Definition,
        lost: LostDecisions,
    ) -> None:
        self._lost = lost
        self._search = search
        self._objective = measured_objective(search.objective, definition)
        self._proposer = WithinLimits(search, definition)
        self._judge = judge_of(search, self._proposer.measures)
        random_seed = search.confirm.random_seed if search.confirm else 0
        self._random = RandomPoints(search, random_seed, self._proposer.measures.holds)
        self._base_point = point_of(search.space.dimensions, definition.base)
        self._has_one_loss = losses_compare(
            [dimension.path for dimension in search.space.dimensions]
        )

    def nothing_known(
        self, keys: Mapping[tuple[str, int], str], num_epochs: Mapping[str, int]
    ) -> SearchKnown:
        """Return the state of an empty journal."""
        return SearchKnown(self._search, self._objective, keys, num_epochs)

    def decide(
        self, definition: Definition, journal: SearchKnown, event: Event
    ) -> Sequence[Decision]:
        """Return what follows from an event."""
        match event:
            case SlotFree():
                is_last = self._has_proposed_all(journal)
                return self._judge.room(journal, is_last=is_last) or (
                    self._next(definition, journal),
                )
            case EpochTold(trial_key) | CellEnded(trial_key):
                return self._lost_stop(journal, trial_key) or self._judge.verdict(
                    journal, trial_key
                )
            case _:
                return ()

    def reason(self, stop: Stop) -> str:
        """Return why a trial was stopped, as one line for its record."""
        mean = "mean " * (len(self._search.seeds) > 1)
        return (
            f"stopped by {self._search.scheduler.kind} after epoch {stop.epoch}, "
            f"{mean}{self._search.objective} {stop.value:.6g}"
        )

    def _lost_stop(self, known: SearchKnown, trial_key: str) -> Sequence[Stop]:
        epoch = self._lost.stops.get(trial_key)
        trial = known.by_key(trial_key)
        if epoch is None or not trial.is_open or max(trial.epochs, default=0) != epoch:
            return ()
        value = known.curves.value(trial_key, epoch)
        return () if value is None else (Stop(trial_key, epoch, value),)

    def _next(self, definition: Definition, known: SearchKnown) -> Decision:
        number = len(known.params)
        if not self._has_proposed_all(known):
            params = self._lost.points.get(number)
            if params is None and (enough := self._enough(known)):
                return enough
            params = params or self._params(known, number)
            if params is None:
                return EndSearch(self._why_none_is_left(), self._search.until, number)
            name = name_of_proposal(number)
            return Propose(tuple(Cell(name, params, seed) for seed in definition.arm_seeds))
        if self._search.confirm is None or known.chosen:
            return DONE
        if known.is_open:
            return WAIT
        best = self._best(known, self._search.confirm.best)
        has_random_reference = bool(best) and self._search.confirm.against_random
        if has_random_reference and (
            draw := self._draw(definition, known, self._search.confirm.random_seed)
        ):
            return draw
        if has_random_reference and known.is_drawn_open:
            return WAIT
        random = self._best_drawn(known) if has_random_reference else None
        reference = BASE if best else None
        return Select(best, reference, self._search.question(), random)

    def _why_none_is_left(self) -> str:
        limits = [limit.description for limit in self._search.limits_before_training]
        if limits := ", ".join(limits):
            return f"no other point was found within the limits ({limits})"
        if forbidden := "; ".join(map(description_of, self._search.space.forbid)):
            return f"no other point was found that is not forbidden ({forbidden})"
        return "no other point was found whose network can be built"

    def _draw(
        self, definition: Definition, known: SearchKnown, random_seed: int
    ) -> ProposeRandom | None:
        """Return the next random point, None once they take as many epochs as the search took."""
        number = len(known.drawn.names)
        if known.num_epochs_drawn() >= known.num_epochs_trained():
            return None
        if (params := self._random.point(number)) is None:
            return None
        name = name_of_draw(number)
        return ProposeRandom(
            tuple(Cell(name, params, seed) for seed in definition.arm_seeds), random_seed
        )

    def _has_proposed_all(self, known: SearchKnown) -> bool:
        return len(known.params) >= self._search.trials or known.is_enough

    def _params(self, known: SearchKnown, number: int) -> Mapping[str, Any] | None:
        if number < len(known.warm_points):
            return known.warm_points[number]
        base = (self._base_point, known.base_for_sampler) if self._base_point else None
        return self._proposer.propose(known.params, known.weighed, base)

    def _enough(self, known: SearchKnown) -> EndSearch | None:
        """Return the end of the search if a condition holds, but only after enough proposals."""
        search, number = self._search, len(known.params)
        if not search.stop or number <= (search.confirm.best if search.confirm else 0):
            return None
        progress = SearchProgress(self._objective, known.ended_values, known.num_epochs_trained())
        reason = next(filter(None, (end.reason(progress) for end in search.stop)), "")
        return EndSearch(reason, search.until, number) if reason else None

    def _best(self, known: SearchKnown, count: int) -> tuple[str, ...]:
        same = [known.first_key(number) for number in range(len(known.params))]
        costs = [self._proposer.measures.costs(params) for params in known.params]
        best = best_arms(known.weighed, same, count, costs, by_loss=self._has_one_loss)
        return tuple(known.names[number] for number in best)

    def _best_drawn(self, known: SearchKnown) -> str | None:
        """Return the best random point by the rule of the search, None if none has ended."""
        same = [keys[-1] for keys in known.drawn.trial_keys]
        best = best_arms(known.drawn_observations(), same, 1, by_loss=self._has_one_loss)
        return known.drawn.names[best[0]] if best else None


_ADAPTERS: Mapping[type[Plan], Any] = {Search: SearchDecider}


class PlanDecider:
    """The decider of a plan that decides for itself."""

    def __init__(self, plan: Plan, definition: Definition, lost: LostDecisions) -> None:
        del definition, lost  # each event brings the one, and only searches have the other
        self._plan = plan

    def decide(self, definition: Definition, journal: Known, event: Event) -> Sequence[Decision]:
        """Return the decisions of the plan."""
        return self._plan.decide(definition, journal, event)

    def nothing_known(
        self, keys: Mapping[tuple[str, int], str], num_epochs: Mapping[str, int]
    ) -> Known:
        """Return the state of an empty journal."""
        return Known(keys, num_epochs)

    def reason(self, stop: Stop) -> str:
        """Return why a trial was stopped, as one line for its record."""
        return f"stopped by {self._plan.kind} after epoch {stop.epoch}, at {stop.value:.6g}"


def decider_of(sweep: Sweep, lost: LostDecisions) -> Decider:
    """Return the decider of a sweep's plan.

    Args:
        sweep: The sweep.
        lost: Decisions that the log has lost.
    """
    return _ADAPTERS.get(type(sweep.plan), PlanDecider)(sweep.plan, sweep, lost)
