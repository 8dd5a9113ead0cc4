"""The next proposal of a search: a pure function of its definition and its results so far.

Only this file uses Optuna's study. It is built in memory from the results, so nothing has to be
reconciled after a crash, and is extended while the search runs. Every sampler is seeded by the
search's seed and the proposal's number: a repeated proposal is the same, the next one differs.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from capsmodel.search_range import Choices, Floats, Ints
from search_spaces.plans.search import SAMPLER_FLAGS, Search
from search_spaces.space.branches import Branches
from search_spaces.space.space import Dimension
from sweeps.execution.search.measures import Measures
from sweeps.execution.search.measures import Params as Params
from sweeps.execution.search.observation import Observation
from sweeps.execution.search.unseen import unseen
from sweeps.records.manifest_plan import Plain

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler, NSGAIISampler
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial, TrialState


def sampler_of(
    search: Search, number: int, *, num_extra: int = 0, num_redrawn: int = 0
) -> "BaseSampler":
    """Return the sampler of one proposal, seeded by its number and by how often it was redrawn.

    Args:
        search: The search.
        number: The number of the proposal, from 0.
        num_extra: Trained points that are no proposals and no part of the random start.
        num_redrawn: How often the proposal broke a limit.
    """
    import numpy as np
    from optuna.samplers import GPSampler, RandomSampler, TPESampler

    entropy = [search.sampler_seed, number, *[num_redrawn] * (num_redrawn > 0)]
    seed = int(np.random.SeedSequence(entropy).generate_state(1)[0])
    num_startup = search.num_startup + num_extra
    match search.sampler:
        case "tpe":
            flags = SAMPLER_FLAGS["tpe"]
            return TPESampler(
                seed=seed,
                n_startup_trials=num_startup,
                multivariate=flags["multivariate"],
                constant_liar=flags["constant_liar"],
                group=flags["group"],
            )
        case "gp":
            return GPSampler(seed=seed, n_startup_trials=num_startup + num_redrawn)
        case "nsga2":
            return _generations(search, num_extra, seed)
        case _:
            return RandomSampler(seed=seed)


def _generations(search: Search, num_extra: int, seed: int) -> "NSGAIISampler":
    """Return an NSGA-II whose generations depend on the numbers of the proposals alone.

    Optuna's NSGA-II stores the generation of each trial in its study, which a rebuilt study lacks.
    """
    from optuna.samplers import NSGAIISampler
    from optuna.trial import TrialState

    size = max(2, search.num_startup)

    class ByNumber(NSGAIISampler):
        def get_trial_generation(self, study: "Study", trial: "FrozenTrial") -> int:
            """Return the generation of a trial; extra points are in the first."""
            return max(0, trial.number - num_extra) // size

        def get_population(self, study: "Study", generation: int) -> "list[FrozenTrial]":
            """Return the trials of a generation that have a result."""
            trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
            return [
                trial for trial in trials if self.get_trial_generation(study, trial) == generation
            ]

    flags = SAMPLER_FLAGS["nsga2"]
    return ByNumber(
        population_size=size,
        crossover_prob=flags["crossover_prob"],
        swapping_prob=flags["swapping_prob"],
        seed=seed,
    )


def distribution_of(dimension: Dimension) -> "BaseDistribution":
    """Return Optuna's distribution for the range of a dimension."""
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    match dimension.range:
        case Ints(low, high, step, log):
            return IntDistribution(low, high, log=log, step=step)
        case Floats(low, high, log):
            return FloatDistribution(low, high, log=log)
        case Choices(values):
            return CategoricalDistribution(values)


def suggested(trial: Any, dimension: Dimension) -> Plain:
    """Return the value that Optuna's trial suggests for a dimension."""
    match dimension.range:
        case Ints(low, high, step, log):
            return trial.suggest_int(dimension.name, low, high, step=step, log=log)
        case Floats(low, high, log):
            return trial.suggest_float(dimension.name, low, high, log=log)
        case Choices(values):
            return trial.suggest_categorical(dimension.name, values)


ObservedPoint = tuple[Mapping[str, Any], Observation]
History = Sequence[ObservedPoint]


class Proposer:
    """Makes the proposals of one search. It caches a study to save time: see `study_of`.

    Args:
        search: The search with its space and sampler.
        measures: Limits and costs of points, None if there are none.
    """

    def __init__(self, search: Search, measures: Measures | None = None) -> None:
        self._search = search
        self._measures = measures if measures and measures.are_used else None
        self._study: ReusedStudy | None = None
        self._branches = Branches(search.space, search.sampler_seed)

    def propose(
        self,
        params: Sequence[Mapping[str, Any]],
        went: Sequence[Observation],
        base: ObservedPoint | None = None,
    ) -> Params:
        """Return the next proposal: dimension name -> value.

        If the space can be counted and the sampler repeats a point, an unseen one is drawn.

        Args:
            params: The earlier proposals, in order.
            went: Their results so far.
            base: The base's point and its result, None if the space does not hold it.
        """
        if self._search.sampler == "grid":
            return self.grid[len(params)]
        proposed = self._sampled(params, went, base)
        if self._search.space.num_points is None:
            return proposed
        seen = [*params, *([base[0]] if base else [])]
        number = len(params)
        return unseen(self._search, proposed, seen, number, branch=self.branch(number))

    def branch(self, number: int) -> Params:
        """Return the kinds that a proposal has whatever its sampler draws; none if it learns."""
        is_balanced = self._search.is_balanced and self._search.is_blind(number)
        return self._branches.branch(number) if is_balanced else {}

    def _sampled(
        self,
        params: Sequence[Mapping[str, Any]],
        went: Sequence[Observation],
        base: ObservedPoint | None,
    ) -> Params:
        search, number = self._search, len(params)
        branch = self.branch(number)
        if search.sampler == "qmc":
            return search.space.at(sobol_point(search, number), branch)
        if search.sampler == "random":  # it ignores earlier results
            trial = _asked(_empty_study(search, number), branch)
        elif self._measures or search.sampler == "nsga2":
            history = list(zip(params, went, strict=True))
            return ask_sampler(search, history, base, measures=self._measures, branch=branch)
        else:
            if self._study is None or not self._study.continues(params, went, base):
                self._study = ReusedStudy(search, params, went, base)
            trial = self._study.ask(params, went, branch)
        return search.space.choose(lambda dimension: suggested(trial, dimension))

    @cached_property
    def grid(self) -> list[Params]:
        """The points of the grid, shuffled once, so that any first part covers it evenly."""
        import numpy as np

        points = list(self._search.space.grid())
        order = np.random.default_rng(self._search.sampler_seed).permutation(len(points))
        return [points[index] for index in order]


class ReusedStudy:
    """Optuna's study of a search, extended with each proposal; it equals a rebuilt one.

    Args:
        search: The search.
        params: The proposals so far, in order; a list that grows with the search.
        went: Their results so far, likewise.
        base: The base's point and its result, None if the space does not hold it.
    """

    def __init__(
        self,
        search: Search,
        params: Sequence[Mapping[str, Any]],
        went: Sequence[Observation],
        base: ObservedPoint | None,
    ) -> None:
        self._search = search
        self._params = params
        self._base = base
        self._worst = worst_of(went, base)
        self._study = study_of(search, list(zip(params, went, strict=True)), base)
        self._asked: dict[int, Trial] = {}  # proposals that have not ended, by number
        self._left_open = [
            index for index, observation in enumerate(went) if observation.state == "open"
        ]
        self._ended = {
            index: observation
            for index, observation in enumerate(went)
            if observation.state != "open"
        }
        self._num_diverged = sum(observation.state == "diverged" for observation in went)

    def continues(
        self,
        params: Sequence[Mapping[str, Any]],
        went: Sequence[Observation],
        base: ObservedPoint | None,
    ) -> bool:
        """Return whether the study can go on: only its last proposal is new."""
        last = self._asked.get(len(params) - 1)
        is_next = params is self._params and last is not None and last.params == params[-1]
        if not is_next or base != self._base:
            return False
        ended = [went[number] for number in self._asked]
        self._num_diverged += sum(observation.state == "diverged" for observation in ended)
        values = [observation.value for observation in ended if observation.value is not None]
        is_worse = max(values, default=-math.inf) > self._worst
        if is_worse and self._num_diverged:  # the value of diverged trials has changed
            return False
        self._worst = max([self._worst, *values])
        if any(went[index] != before for index, before in self._ended.items()):
            return False  # a waiting trial was promoted
        return all(went[index].state == "open" for index in self._left_open)

    def ask(
        self, params: Sequence[Mapping[str, Any]], went: Sequence[Observation], branch: Params
    ) -> "Trial":
        """Return Optuna's trial of the next proposal, which has the kinds of a branch."""
        for number in [asked for asked in self._asked if went[asked].state != "open"]:
            self._ended[number] = went[number]
            self._report(self._asked.pop(number), went[number])
        num_extra = int(self._base is not None)
        self._study.sampler = sampler_of(self._search, len(params), num_extra=num_extra)
        trial = _asked(self._study, branch)
        self._asked[len(params)] = trial
        return trial

    def _report(self, trial: "Trial", went: Observation) -> None:
        """Add the result of a proposal as `study_of` would."""
        value = _value_for_sampler(went, self._worst)
        if value is not None:
            trial.report(value, went.epoch)
        state = _state_of(went)
        self._study.tell(trial, None if state.name in {"PRUNED", "FAIL"} else value, state)


def study_of(
    search: Search,
    history: History,
    base: ObservedPoint | None = None,
    *,
    measures: Measures | None = None,
    rejected: Sequence[Params] = (),
) -> "Study":
    """Return Optuna's study of all proposals so far, ready to be asked for the next.

    Diverged proposals get the worst value of all others; otherwise the sampler would know nothing
    of them and return there. Points carry by how much they break the limits, as constraints.

    Optuna's TPE ranks pruned trials by one objective only. With two it sees them as
    complete ones, with the value at their last rung, where longer trainings are mostly better.
    """
    from optuna.trial import create_trial

    broken = _broken(search, measures, rejected)
    is_constrained = bool(search.limits or search.space.forbid or broken)
    points = [*broken, *([base] if base else []), *history]
    study = _empty_study(search, len(history), base, len(rejected))
    distributions = {
        dimension.name: distribution_of(dimension) for dimension in search.space.dimensions
    }
    worst = worst_of([went for _, went in history], base)
    costs = [measures.costs(params) if measures else () for params, _ in points]
    worst_costs = max(costs, default=())
    has_pruned = search.sampler != "tpe" or not search.cost
    for (params, went), cost in zip(points, costs, strict=True):
        value = _value_for_sampler(went, worst)
        is_bad = went.state == "diverged"
        study.add_trial(
            create_trial(
                state=_state_of(went, has_pruned=has_pruned),
                values=None if value is None else [value, *(worst_costs if is_bad else cost)],
                params=dict(params),
                distributions={name: distributions[name] for name in params},
                intermediate_values={} if value is None else {went.epoch: value},
                constraints=measures.constraints(params, went.excesses)
                if measures and is_constrained
                else None,
            )
        )
    return study


def _broken(
    search: Search, measures: Measures | None, rejected: Sequence[Params]
) -> list[ObservedPoint]:
    """Return points that break a limit in the form for a sampler.

    For TPE they are running trials, which it avoids (`constant_liar`) and does not count: as
    results they would raise the number of other trials that it considers good. The children of
    NSGA-II have parents within the limits.
    """
    how = {"tpe": Observation("open"), "gp": Observation("diverged")}.get(search.sampler)
    known = measures.broken_points if measures else ()
    return [(point, how) for point in (*known, *rejected)] if how else []


def ask_sampler(
    search: Search,
    history: History,
    base: ObservedPoint | None,
    *,
    measures: Measures | None = None,
    rejected: Sequence[Params] = (),
    branch: Params | None = None,
) -> Params:
    """Return the next proposal of the sampler, from a rebuilt study.

    Args:
        search: The search.
        history: The proposals so far with their results.
        base: The base's point and its result, None if the space does not hold it.
        measures: Limits and costs of points, None if there are none.
        rejected: Its proposals for this number that broke a limit.
        branch: The kinds that it has in any case.
    """
    study = study_of(search, history, base, measures=measures, rejected=rejected)
    trial = _asked(study, branch or {})
    return search.space.choose(lambda dimension: suggested(trial, dimension))


def _asked(study: "Study", branch: Params) -> "Trial":
    """Return a study's next trial, which has the kinds of a branch whatever the sampler draws."""
    if branch:
        study.enqueue_trial(branch)
    return study.ask()


def worst_of(went: Sequence[Observation], base: ObservedPoint | None) -> float:
    """Return the largest value of all proposals and the base, minus infinity if none has one."""
    observations = [*went, *([base[1]] if base else [])]
    return max(
        (observation.value for observation in observations if observation.value is not None),
        default=-math.inf,
    )


def _empty_study(
    search: Search, number: int, base: ObservedPoint | None = None, num_redrawn: int = 0
) -> "Study":
    import optuna
    from optuna.study import StudyDirection

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    num_extra = int(base is not None)
    sampler = sampler_of(search, number, num_extra=num_extra, num_redrawn=num_redrawn)
    directions = [StudyDirection.MINIMIZE] * len(search.objective_names())
    return optuna.create_study(sampler=sampler, directions=directions)


def _value_for_sampler(observation: Observation, worst: float) -> float | None:
    if observation.state != "diverged":
        return observation.value
    return worst if math.isfinite(worst) else 0.0  # if all have diverged they are equal


def _state_of(observation: Observation, *, has_pruned: bool = True) -> "TrialState":
    from optuna.trial import TrialState

    states = {
        "open": TrialState.RUNNING,
        "complete": TrialState.COMPLETE,
        "pruned": TrialState.PRUNED if has_pruned else TrialState.COMPLETE,
        "diverged": TrialState.COMPLETE,
        "failed": TrialState.FAIL,
    }
    return states[observation.state]


def sobol_point(search: Search, number: int) -> list[float]:
    """Return a point of the scrambled Sobol sequence in the unit cube."""
    from scipy.stats import qmc

    sequence = qmc.Sobol(len(search.space.dimensions), scramble=True, rng=search.sampler_seed)
    if number:  # scipy refuses to skip nothing
        sequence.fast_forward(number)
    return [float(coordinate) for coordinate in sequence.random(1)[0]]
