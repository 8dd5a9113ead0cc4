"""A proposal is a pure function of the search and of how it went so far."""

import math
from typing import Any

import pytest
from optuna.trial import TrialState

from capsmodel import TrainingConfig
from capsmodel.search_range import Ints
from search_spaces import Search, Space
from sweeps.execution.search.observation import Observation
from sweeps.execution.search.proposals import (
    History,
    Params,
    Proposer,
    distribution_of,
    study_of,
)
from tests.sweeps.execution.search.examples import (
    BATCH,
    CONDITIONAL,
    DIVERGED,
    FAILED,
    FEW_POINTS,
    OPEN,
    RATE,
    SPACE,
    complete,
    pruned,
    search,
)


def propose(search: Search, number: int, history: History) -> Params:
    """Return the next proposal of a new proposer."""
    assert number == len(history)
    points, went = [params for params, _ in history], [each for _, each in history]
    return Proposer(search).propose(points, went)


def value_of(params: Params) -> float:
    rate = params[RATE]
    assert isinstance(rate, float)
    return abs(math.log10(rate) + 2.3)  # the best is at 0.005


def searched(
    plan: Search, count: int, history: History = (), value: float | None = None
) -> History:
    """Return how a search goes on that trains each proposal to its end."""
    known = list(history)
    while len(known) < count:
        params = propose(plan, len(known), known)
        known.append((params, complete(value_of(params) if value is None else value)))
    return known


def proposals(plan: Search, count: int, value: float | None = None) -> list[Params]:
    return [dict(params) for params, _ in searched(plan, count, value=value)]


def of(sampler: str, **changes: Any) -> Search:
    return search(sampler=sampler, trials=40, **changes)


@pytest.mark.parametrize("sampler", ["tpe", "random", "gp", "qmc"])
def test_the_same_history_gives_the_same_proposal(sampler: str) -> None:
    plan = of(sampler)
    history = searched(plan, 12)  # so that the sampler has something to learn from
    assert propose(plan, 12, history) == propose(plan, 12, history)


@pytest.mark.parametrize("sampler", ["tpe", "random", "qmc"])
def test_each_number_gives_another_proposal(sampler: str) -> None:
    rates = [params[RATE] for params in proposals(of(sampler), 16)]
    assert len(set(rates)) == 16


@pytest.mark.parametrize("sampler", ["tpe", "random", "qmc"])
def test_another_seed_gives_other_proposals(sampler: str) -> None:
    plan, other = of(sampler), of(sampler, sampler_seed=1)
    assert proposals(plan, 3) != proposals(other, 3)


@pytest.mark.parametrize("sampler", ["tpe", "random", "qmc"])
@pytest.mark.parametrize("space", [SPACE, CONDITIONAL])
def test_each_proposal_is_a_point_of_the_space(sampler: str, space: Any) -> None:
    known: list[tuple[Params, Observation]] = []
    for number in range(14):
        params = propose(of(sampler, space=space), number, known)
        assert space.changes(params), "refuses what is none of its points"
        known.append((params, complete(0.1 * (number % 3))))


@pytest.mark.parametrize("sampler", ["tpe", "gp"])
def test_a_sampler_that_learns_ends_up_near_the_best(sampler: str) -> None:
    plan = of(sampler, space=SPACE.without(BATCH))
    history = searched(plan, 18)
    blind, learnt = history[:10], history[10:]
    mean = [
        sum(value_of(dict(params)) for params, _ in part) / len(part) for part in (blind, learnt)
    ]
    assert mean[1] < mean[0] / 2


def test_the_grid_gives_every_point_once_and_not_in_order() -> None:
    plan = search(space=FEW_POINTS, sampler="grid", trials=4)
    proposed = proposals(plan, 4)
    points = list(FEW_POINTS.grid())
    assert sorted(proposed, key=points.index) == points
    orders = {
        str(proposals(search(space=FEW_POINTS, sampler="grid", trials=4, sampler_seed=seed), 4))
        for seed in range(8)
    }
    assert len(orders) > 1


@pytest.mark.parametrize("sampler", ["grid", "qmc", "random"])
def test_a_sampler_that_does_not_learn_is_a_function_of_the_number(sampler: str) -> None:
    plan = search(space=FEW_POINTS, sampler=sampler, trials=4)
    went = [FAILED, OPEN, pruned(0.5)]
    proposed = proposals(plan, 4)
    assert propose(plan, 3, list(zip(proposed[:3], went, strict=True))) == proposed[3]


def test_points_of_qmc_fill_the_space_evenly() -> None:
    rates = [value_of(params) for params in proposals(of("qmc"), 16)]
    logarithms = sorted(math.log10(float(params[RATE])) for params in proposals(of("qmc"), 16))
    assert len(rates) == 16
    cells = {int((logarithm + 4) / 2 * 16) for logarithm in logarithms}
    assert len(cells) == 16, "one in each sixteenth of the range"


def test_a_failed_or_open_proposal_has_no_value() -> None:
    went = [complete(0.5, 3), pruned(0.75, 2), FAILED, OPEN]
    plan = of("tpe")
    history = [(params, each) for params, each in zip(proposals(plan, 4), went, strict=True)]
    trials = study_of(plan, history).get_trials()
    assert [(trial.state, trial.value, trial.intermediate_values) for trial in trials] == [
        (TrialState.COMPLETE, 0.5, {3: 0.5}),
        (TrialState.PRUNED, 0.75, {2: 0.75}),
        (TrialState.FAIL, None, {}),
        (TrialState.RUNNING, None, {}),
    ]
    assert [trial.params for trial in trials] == [params for params, _ in history]


def test_tpe_goes_on_from_any_history() -> None:
    plan = of("tpe")
    went = [complete(0.5), pruned(0.75), FAILED, OPEN]
    history = [
        (params, went[number % 4]) for number, params in enumerate(proposals(of("random"), 24))
    ]
    known = history[:11]
    for number in range(11, 24):
        assert propose(plan, number, known).keys() == {RATE, BATCH}
        known = history[: number + 1]


def test_what_diverged_has_the_worst_value_that_any_has() -> None:
    went = [complete(0.5, 3), DIVERGED, pruned(0.75, 2), complete(0.25)]
    plan = of("tpe")
    points = proposals(plan, 4)
    trials = study_of(plan, list(zip(points, went, strict=True))).get_trials()
    assert (trials[1].state, trials[1].value) == (TrialState.COMPLETE, 0.75)
    base = (points[0], complete(0.875))
    trials = study_of(plan, list(zip(points, went, strict=True)), base).get_trials()
    assert [trial.value for trial in trials] == [0.875, 0.5, 0.875, 0.75, 0.25]


@pytest.mark.parametrize("sampler", ["tpe", "random", "qmc"])
def test_no_point_of_a_space_that_can_be_counted_is_proposed_twice(sampler: str) -> None:
    plan = search(sampler=sampler, trials=4, space=FEW_POINTS)
    base = {RATE: 1e-3, BATCH: 200}
    known: list[tuple[Params, Observation]] = []
    for _ in range(4):
        points, went = [params for params, _ in known], [each for _, each in known]
        params = Proposer(plan).propose(points, went, (base, complete(0.1)))
        known.append((params, complete(0.1)))
    assert len({(params[RATE], params[BATCH]) for params, _ in known}) == 4
    assert known[-1][0] == base, "the base is trained already, and comes last"


def test_tpe_learns_from_what_was_stopped_and_not_from_what_failed() -> None:
    plan = of("tpe")
    points = proposals(of("random"), 12)
    open_history = [(params, OPEN) for params in points]
    failed_history = [(params, FAILED) for params in points]
    pruned_history = [(params, pruned(value_of(params))) for params in points]
    blind = propose(plan, 12, open_history)
    assert propose(plan, 12, failed_history) == blind
    assert propose(plan, 12, pruned_history) != blind


def test_tpe_proposes_settings_that_are_there_with_the_kind_it_chose() -> None:
    plan = of("tpe", space=CONDITIONAL)
    kinds: set[Any] = set()
    known: list[tuple[Params, Observation]] = []
    for number in range(24):
        params = propose(plan, number, known)
        active = {
            dimension.name for dimension in CONDITIONAL.dimensions if dimension.is_active(params)
        }
        assert set(params) == active
        kinds.add(params["loss"])
        known.append((params, complete(0.1 if params["loss"] == "spread" else 0.9)))
    assert kinds == {"margin", "spread", "cross_entropy", "sigmoid"}
    losses = [params["loss"] for params, _ in known[10:]]
    assert losses.count("spread") > len(losses) / 2


def test_optuna_is_told_the_ranges_as_they_are() -> None:
    ranges = {
        dimension.name: str(distribution_of(dimension))
        for dimension in [*SPACE.dimensions, *CONDITIONAL.dimensions]
    }
    assert ranges[RATE] == "FloatDistribution(high=0.01, log=True, low=0.0001, step=None)"
    assert ranges[BATCH] == "CategoricalDistribution(choices=(32, 64, 128, 256))"
    assert ranges["loss[margin].positive_margin"].endswith(
        "high=0.95, log=False, low=0.7, step=None)"
    )


def test_whole_numbers_keep_their_steps() -> None:
    path = "model.routing.iterations"
    varied = {"model": ("capsnet",), "model.routing": ("dynamic",), path: Ints(1, 5, step=2)}
    space = Space.of(TrainingConfig).only(path).varied(varied)
    proposed = proposals(search(sampler="random", trials=3, space=space), 3, value=0.5)
    assert sorted(point[path] for point in proposed) == [1, 3, 5]
