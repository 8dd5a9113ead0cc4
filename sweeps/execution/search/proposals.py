"""What a search proposes next: a pure function of its definition and of how it went so far.

Optuna stays inside. Its study is built anew in memory for every proposal, from the observations,
so nothing has to be reconciled after a crash; every sampler takes its seed from the search's and
the proposal's number, so that a proposal made again is the same and the next one is another.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from capsmodel.search_range import Choices, Floats, Ints
from search_spaces.plans.search import Search
from search_spaces.space.space import Dimension
from sweeps.execution.search.observation import Observation
from sweeps.records.manifest import Plain

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial

Params = dict[str, Plain]
History = Sequence[tuple[Params, Observation]]


def propose(search: Search, number: int, history: History) -> Params:
    """Return the next proposal: dimension name -> value.

    Args:
        search: What is varied, and by which sampler.
        number: Of the proposal, from 0: the length of the history.
        history: What was proposed before, in order, and how it went so far.
    """
    assert number == len(history)
    if search.sampler == "grid":
        return _grid_point(search, number)
    if search.sampler == "qmc":
        return search.space.at(_sobol_point(search, number))
    trial = study_of(search, history).ask()

    def suggest(dimension: Dimension) -> Plain:
        return _suggested(trial, dimension)

    return search.space.choose(suggest)


def study_of(search: Search, history: History) -> "Study":
    """Return Optuna's study of what was proposed so far, ready to be asked for the next."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=_sampler(search, len(history)))
    distributions = {one.name: distribution_of(one) for one in search.space.dimensions}
    study.add_trials([_frozen_trial(*each, distributions) for each in history])
    return study


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
    params: Params, observation: Observation, distributions: dict[str, "BaseDistribution"]
) -> "FrozenTrial":
    """Return a proposal as Optuna holds it: a failed or open one has no value."""
    from optuna.trial import TrialState, create_trial

    states = {
        "open": TrialState.RUNNING,
        "complete": TrialState.COMPLETE,
        "pruned": TrialState.PRUNED,
        "failed": TrialState.FAIL,
    }
    value = observation.value
    return create_trial(
        state=states[observation.state],
        value=value,
        params=params,
        distributions={name: distributions[name] for name in params},
        intermediate_values={} if value is None else {observation.epoch: value},
    )


def _suggested(trial: Any, dimension: Dimension) -> Plain:
    match dimension.range:
        case Ints(low, high, step, log):
            return trial.suggest_int(dimension.name, low, high, step=step, log=log)
        case Floats(low, high, log):
            return trial.suggest_float(dimension.name, low, high, log=log)
        case Choices(values):
            return trial.suggest_categorical(dimension.name, values)


def _grid_point(search: Search, number: int) -> Params:
    """Return a point of the grid, in an order shuffled once: a part of it covers it evenly."""
    import numpy as np

    points = list(search.space.grid())
    order = np.random.default_rng(search.sampler_seed).permutation(len(points))
    return points[order[number]]


def _sobol_point(search: Search, number: int) -> list[float]:
    """Return a point of the scrambled Sobol sequence in the unit cube."""
    from scipy.stats import qmc

    sequence = qmc.Sobol(len(search.space.dimensions), scramble=True, rng=search.sampler_seed)
    if number:  # scipy cannot go forward by nothing
        sequence.fast_forward(number)
    return [float(coordinate) for coordinate in sequence.random(1)[0]]
