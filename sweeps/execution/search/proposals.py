"""What a search proposes next: a pure function of its definition and of how it went so far.

Optuna stays inside. Its study is built in memory from the observations, so nothing has to be
reconciled after a crash, and extended while the search runs; every sampler takes its seed from the
search's and the proposal's number, so that a proposal made again is the same and the next one is
another.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from capsmodel.search_range import Choices, Floats, Ints
from search_spaces.plans.search import Search
from search_spaces.space.space import Dimension
from sweeps.execution.search.observation import Observation
from sweeps.records.manifest_plan import Plain

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial, Trial, TrialState

Params = dict[str, Plain]
History = Sequence[tuple[Mapping[str, Any], Observation]]


class Proposer:
    """Proposes for one search. What it keeps is only to save time: see `study_of`.

    Args:
        search: What is varied, and by which sampler.
    """

    def __init__(self, search: Search) -> None:
        self._search = search
        self._study: KeptStudy | None = None

    def propose(self, params: Sequence[Mapping[str, Any]], went: Sequence[Observation]) -> Params:
        """Return the next proposal: dimension name -> value.

        Args:
            params: What was proposed before, in order.
            went: How each of them went so far.
        """
        search, number = self._search, len(params)
        if search.sampler == "grid":
            return self._grid[number]
        if search.sampler == "qmc":
            return search.space.at(_sobol_point(search, number))
        if search.sampler == "random":  # which does not look at what was
            trial = _empty_study(search, number).ask()
        else:
            if self._study is None or not self._study.goes_on_with(params, went):
                self._study = KeptStudy(search, params, went)
            trial = self._study.ask(params, went)
        return search.space.choose(lambda dimension: _suggested(trial, dimension))

    @cached_property
    def _grid(self) -> list[Params]:
        """The points of the grid, in an order shuffled once: a part of it covers it evenly."""
        import numpy as np

        points = list(self._search.space.grid())
        order = np.random.default_rng(self._search.sampler_seed).permutation(len(points))
        return [points[index] for index in order]


class KeptStudy:
    """Optuna's study of a search, extended as that grows: equal to one that is built anew.

    Args:
        search: What is varied.
        params: What was proposed so far, in order; a list that grows with the search.
        went: How each of them went so far, likewise.
    """

    def __init__(
        self, search: Search, params: Sequence[Mapping[str, Any]], went: Sequence[Observation]
    ) -> None:
        self._search = search
        self._params = params
        self._study = study_of(search, list(zip(params, went, strict=True)))
        self._asked: dict[int, Trial] = {}  # those that have not ended, by number
        self._left_open = [
            index for index, observation in enumerate(went) if observation.state == "open"
        ]

    def goes_on_with(
        self, params: Sequence[Mapping[str, Any]], went: Sequence[Observation]
    ) -> bool:
        """Return whether all that is new is the proposal that this study was asked for last."""
        last = self._asked.get(len(params) - 1)
        is_next = params is self._params and last is not None and last.params == params[-1]
        return is_next and all(went[index].state == "open" for index in self._left_open)

    def ask(self, params: Sequence[Mapping[str, Any]], went: Sequence[Observation]) -> "Trial":
        """Return Optuna's trial of the next proposal."""
        for number in [asked for asked in self._asked if went[asked].state != "open"]:
            self._tell(self._asked.pop(number), went[number])
        self._study.sampler = _sampler(self._search, len(params))
        trial = self._study.ask()
        self._asked[len(params)] = trial
        return trial

    def _tell(self, trial: "Trial", went: Observation) -> None:
        """Tell how a proposal went, so that the study holds what `study_of` would put there."""
        if went.value is not None:
            trial.report(went.value, went.epoch)
        state = _state_of(went)
        self._study.tell(trial, went.value if went.state == "complete" else None, state)


def study_of(search: Search, history: History) -> "Study":
    """Return Optuna's study of what was proposed so far, ready to be asked for the next."""
    study = _empty_study(search, len(history))
    distributions = {
        dimension.name: distribution_of(dimension) for dimension in search.space.dimensions
    }
    study.add_trials([_frozen_trial(*each, distributions) for each in history])
    return study


def _empty_study(search: Search, number: int) -> "Study":
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(sampler=_sampler(search, number))


def distribution_of(dimension: Dimension) -> "BaseDistribution":
    """Return Optuna's word for the range of a dimension."""
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


def _sampler(search: Search, number: int) -> "BaseSampler":
    """Return the sampler of one proposal, seeded by its number."""
    import numpy as np
    from optuna.samplers import GPSampler, RandomSampler, TPESampler

    seed = int(np.random.SeedSequence([search.sampler_seed, number]).generate_state(1)[0])
    if search.sampler == "tpe":
        return TPESampler(seed=seed, n_startup_trials=search.num_startup)
    if search.sampler == "gp":
        return GPSampler(seed=seed, n_startup_trials=search.num_startup)
    return RandomSampler(seed=seed)


def _frozen_trial(
    params: Mapping[str, Any],
    observation: Observation,
    distributions: dict[str, "BaseDistribution"],
) -> "FrozenTrial":
    """Return a proposal as Optuna holds it: a failed or open one has no value."""
    from optuna.trial import create_trial

    value = observation.value
    return create_trial(
        state=_state_of(observation),
        value=value,
        params=dict(params),
        distributions={name: distributions[name] for name in params},
        intermediate_values={} if value is None else {observation.epoch: value},
    )


def _state_of(observation: Observation) -> "TrialState":
    from optuna.trial import TrialState

    states = {
        "open": TrialState.RUNNING,
        "complete": TrialState.COMPLETE,
        "pruned": TrialState.PRUNED,
        "failed": TrialState.FAIL,
    }
    return states[observation.state]


def _suggested(trial: Any, dimension: Dimension) -> Plain:
    match dimension.range:
        case Ints(low, high, step, log):
            return trial.suggest_int(dimension.name, low, high, step=step, log=log)
        case Floats(low, high, log):
            return trial.suggest_float(dimension.name, low, high, log=log)
        case Choices(values):
            return trial.suggest_categorical(dimension.name, values)


def _sobol_point(search: Search, number: int) -> list[float]:
    """Return a point of the scrambled Sobol sequence in the unit cube."""
    from scipy.stats import qmc

    sequence = qmc.Sobol(len(search.space.dimensions), scramble=True, rng=search.sampler_seed)
    if number:  # scipy cannot go forward by nothing
        sequence.fast_forward(number)
    return [float(coordinate) for coordinate in sequence.random(1)[0]]
