"""A search with two objectives: what samplers hear, what is chosen, and that no kill matters."""

import math
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import TrialState

from capsmodel import TrainingConfig
from search_spaces import Limit, Search
from search_spaces.space import limits as limits_module
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.execution.search.decider import best_arms
from sweeps.execution.search.measures import Measures
from sweeps.execution.search.observation import Observation, unwanted
from sweeps.execution.search.proposals import Params, study_of
from sweeps.execution.search.within_limits import WithinLimits
from sweeps.records.fronts import dominates
from tests.sweeps.execution.search.examples import (
    BATCH,
    DIVERGED,
    FAILED,
    OPEN,
    RATE,
    complete,
    confirm,
    expect_valid,
    pruned,
    searched,
)
from tests.sweeps.execution.search.simulated import Launch, World
from tests.sweeps.execution.search.test_kills import Snapshots, Unbroken, built, score

pytestmark = pytest.mark.usefixtures("few_points_tried")


@pytest.fixture(autouse=True)
def _parameters_by_batch_and_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a configuration have more parameters the larger batch and learning rate are."""

    def counted(config: TrainingConfig) -> int:
        return round(config.batch_size * config.model_dump()["optimiser"]["learning_rate"] * 1e5)

    monkeypatch.setattr(limits_module, "num_parameters", counted)
    monkeypatch.setattr("sweeps.execution.plan.definition.num_parameters", built)
    monkeypatch.setattr(Search, "num_startup", 3)


def weighed(**changes: Any) -> SweepDefinition:
    known: dict[str, Any] = {"cost": "num_parameters", "scheduler": "none", "trials": 6}
    return searched(**(known | changes))


def plan_of(definition: SweepDefinition) -> Search:
    assert isinstance(definition.sweep.plan, Search)
    return definition.sweep.plan


def went(point: Params) -> Observation:
    return complete(abs(math.log10(float(point[RATE])) + 3.1))


def proposals(definition: SweepDefinition, count: int) -> list[Params]:
    proposer = WithinLimits(plan_of(definition), definition.sweep)
    points: list[Params] = []
    for _ in range(count):
        point = proposer.propose(points, [went(point) for point in points])
        assert point is not None
        points.append(point)
    return points


@pytest.mark.parametrize("sampler", ["tpe", "gp", "nsga2", "random", "qmc"])
def test_a_proposal_is_a_function_of_what_was(sampler: str) -> None:
    definition = weighed(sampler=sampler, trials=9)
    points = proposals(definition, 6)
    anew = WithinLimits(plan_of(definition), definition.sweep)
    for number in (3, 5):
        known = points[:number]
        assert anew.propose(known, [went(point) for point in known]) == points[number]


@pytest.mark.parametrize("sampler", ["tpe", "nsga2"])
def test_a_sampler_is_told_of_both_objectives(sampler: str) -> None:
    definition = weighed(sampler=sampler, trials=12)
    points = proposals(definition, 5)
    at = [complete(0.1 + number / 100) for number in range(5)]
    proposer = WithinLimits(plan_of(definition), definition.sweep)
    with_cost = proposer.propose(points, at)
    plain = searched(sampler=sampler, scheduler="none", trials=12)
    assert with_cost != WithinLimits(plan_of(plain), plain.sweep).propose(points, at)
    assert {point[BATCH] for point in proposals(definition, 12)} > {32}


def test_what_diverged_is_dominated_by_all_however_small_it_was() -> None:
    definition = weighed(trials=12)
    points: list[Params] = [{RATE: 1e-3, BATCH: size} for size in (32, 64, 128, 64)]
    how = [DIVERGED, complete(0.25), complete(0.5), OPEN]
    measures = Measures(plan_of(definition), definition.sweep)
    history = list(zip(points, how, strict=True))
    diverged, better, other, running = study_of(
        plan_of(definition), history, measures=measures
    ).get_trials()
    assert diverged.values == [0.5, math.log(12800)]
    assert better.values == [0.25, math.log(6400)]
    for trial in (better, other):
        assert dominates((*trial.values,), (*diverged.values,)) or trial is other
    assert running.state is TrialState.RUNNING


def test_tpe_is_told_of_what_waits_or_was_stopped_as_of_what_has_that_value() -> None:
    definition = weighed(trials=12, scheduler="promotion")
    points: list[Params] = [{RATE: 1e-3, BATCH: size} for size in (32, 64, 128)]
    history = list(zip(points, [pruned(0.25), complete(0.5), DIVERGED], strict=True))
    plan = plan_of(definition)
    measures = Measures(plan, definition.sweep)
    trials = study_of(plan, history, measures=measures).get_trials()
    assert [trial.state for trial in trials] == [TrialState.COMPLETE] * 3
    assert trials[0].values == [0.25, math.log(3200)]
    assert trials[2].values == [0.5, math.log(12800)]
    assert unwanted(plan) == DIVERGED
    by_generations = plan_of(weighed(sampler="nsga2", trials=12, scheduler="promotion"))
    assert study_of(by_generations, history, measures=measures).trials[0].state.name == "PRUNED"


def test_the_generations_of_nsga2_hang_on_numbers_alone() -> None:
    definition = weighed(sampler="nsga2", trials=12)
    points = proposals(definition, 7)
    blind = [FAILED if number % 2 else went(point) for number, point in enumerate(points)]
    proposer = WithinLimits(plan_of(definition), definition.sweep)
    assert proposer.propose(points, blind)  # with a generation that has hardly any result
    parents = {(point[RATE], point[BATCH]) for point in points[:6]}
    rates = {rate for rate, _ in parents}
    children = [proposer.propose(points[:6], [went(point) for point in points[:6]])]
    assert any(child and child[RATE] in rates for child in [*children, *points[3:]])


def test_the_best_value_is_chosen_first_and_then_what_spreads() -> None:
    values = [0.1, 0.1, 0.2, 0.8, 0.9, 0.05]
    costs = [(9.0,), (8.0,), (3.0,), (2.0,), (9.5,), (9.6,)]
    observations = [complete(value) for value in values[:5]] + [DIVERGED]
    names = [str(number) for number in range(6)]
    assert best_arms(observations, names, 3, costs, by_loss=True) == [1, 2, 3]
    assert best_arms(observations, names, 1, costs, by_loss=True) == [1]
    assert best_arms(observations, names, 3, by_loss=True) == [0, 1, 2]


@pytest.mark.parametrize(
    "changes",
    [
        {"sampler": "tpe"},
        {"sampler": "nsga2"},
        {"sampler": "tpe", "cost": None, "limits": Limit("num_parameters", at_most=9_000)},
    ],
    ids=["tpe", "nsga2", "limits"],
)
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.nightly)])
def test_a_driver_killed_at_any_step_and_run_again_changes_nothing(
    tmp_path: Path, changes: dict[str, Any], every: int
) -> None:
    definition = weighed(trials=5, confirm=confirm(2, (101,)), **changes)
    world = World(tmp_path / "unbroken")
    snapshots = Snapshots(world, tmp_path / "killed")
    launch = Launch(world, definition, score, step=snapshots).run()
    unbroken = Unbroken(world, launch)
    assert launch.manifest.search
    assert launch.manifest.search.confirmation
    assert launch.manifest.search.confirmation.arms
    expect_valid(launch.manifest)
    assert len(snapshots.taken) > 60
    for killed in snapshots.taken[::every]:
        unbroken.expect_same(killed, Launch(killed, definition, score).run())
