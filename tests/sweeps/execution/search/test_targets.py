"""A search of trainings that end with their target: none is stopped as it ends, all are rivals."""

from pathlib import Path

import pytest

from capsmodel.metrics import VALIDATION_ERROR, Objective
from capsmodel.stopping import TargetMetric
from search_spaces import NoScheduler
from search_spaces.plans.decisions import EpochTold
from search_spaces.plans.known import KnownTrial
from sweeps.execution.plan.definition import Changes, SweepDefinition, define
from sweeps.execution.search.curves import ArmCurves
from tests.capsmodel.small_config import small_config
from tests.sweeps.execution.search.examples import search, sweep
from tests.sweeps.execution.search.scores import number_of
from tests.sweeps.execution.search.simulated import Launch, Score, WorkerKilled, World

TARGET = 0.5
RUNG = 2  # of three epochs at most


def definition(trials: int) -> SweepDefinition:
    base = small_config(stopping=TargetMetric(at_or_below=TARGET, max_epochs=3))
    plan = search(sampler="random", trials=trials)
    return define(sweep(base=base, plan=plan), Changes(), ())


def errors(*rows: tuple[float, ...]) -> Score:
    """Return a score: one row a proposal, one error an epoch; the base reaches the target."""
    return lambda spec, epoch: (*rows, (TARGET,))[number_of(spec)][epoch - 1]


def stopped(launch: Launch) -> list[str]:
    return [cell.arm for cell in launch.manifest.cells if cell.stopped]


def test_a_trial_that_reaches_its_target_at_a_rung_is_not_stopped_there(tmp_path: Path) -> None:
    score = errors((0.9, 0.1), (0.9, 0.1), (0.9, 0.4))
    launch = Launch(World(tmp_path), definition(3), score).run()
    assert stopped(launch) == []
    assert launch.states() == ["complete"] * 3
    assert [observation.epoch for observation in launch.observations()] == [RUNG] * 3


def test_nor_where_its_process_is_killed_before_its_final_record(tmp_path: Path) -> None:
    score = errors((0.9, 0.1), (0.9, 0.1), (0.9, 0.4))
    world = World(tmp_path)
    kills = [0]

    def kill_once(trial_key: str) -> None:
        is_third = len(launch.started) == 4  # after the base
        if is_third and world.folder(trial_key).epochs_done() == RUNG and not kills[0]:
            kills[0] = 1
            raise WorkerKilled

    launch = Launch(world, definition(3), score, trainer_step=kill_once)
    launch.run()
    assert kills == [1]
    assert stopped(launch) == []
    assert set(launch.states()) == {"complete"}
    assert set(world.epochs_trained().values()) == {1}


def test_trials_that_reached_their_target_before_a_rung_are_rivals_at_it(tmp_path: Path) -> None:
    score = errors((0.1,), (0.2,), (0.9, 0.9, 0.9))
    launch = Launch(World(tmp_path), definition(3), score).run()
    assert stopped(launch) == ["proposal 2"]


def test_so_they_are_after_the_driver_was_started_anew(tmp_path: Path) -> None:
    world = World(tmp_path)
    Launch(world, definition(2), errors((0.1,), (0.2,))).run()
    launch = Launch(world, definition(3), errors((), (), (0.9, 0.9, 0.9))).run()
    assert stopped(launch) == ["proposal 2"]


@pytest.mark.parametrize(("epoch", "values"), [(1, [0.3, 0.8]), (2, [0.3, 0.7]), (3, [0.3])])
def test_only_a_reached_target_stands_for_the_epochs_after_it(
    epoch: int, values: list[float]
) -> None:
    curves = ArmCurves(Objective(VALIDATION_ERROR), NoScheduler())
    for key in "abc":
        curves.add([key])
    figures = {"train_loss": 1.0, "validation_loss": 1.0}
    curves.add_epoch("a", 1, figures | {"validation_error": 0.3, "reaches_target": True})
    curves.add_epoch("b", 1, figures | {"validation_error": 0.8})
    curves.add_epoch("b", 2, figures | {"validation_error": 0.7, "reaches_target": False})
    assert list(curves.rivals("c", epoch)) == values


def test_a_trial_that_keeps_its_best_weights_is_judged_by_its_best_epoch_so_far() -> None:
    curves = ArmCurves(Objective(VALIDATION_ERROR), NoScheduler())
    for key in "abc":
        curves.add([key])
    figures = {"train_loss": 1.0, "validation_loss": 1.0}
    for epoch, error, best in ((1, 0.5, 1), (2, 0.3, 2), (3, 0.4, 2)):
        told = figures | {"validation_error": error}
        curves.add_epoch("a", epoch, told | {"best_epoch": best})
        curves.add_epoch("b", epoch, told)
    assert list(curves.of("a").values()) == [0.5, 0.3, 0.3]
    assert list(curves.of("b").values()) == [0.5, 0.3, 0.4]
    assert list(curves.rivals("c", 3)) == [0.3, 0.4]


def test_a_known_trial_has_the_metrics_of_the_epoch_that_would_be_tested() -> None:
    trial = KnownTrial()
    for epoch, error, best in ((1, 0.1, 1), (2, 0.3, 1)):
        trial.take(EpochTold("a", epoch, {"validation_error": error, "best_epoch": best}))
    assert trial.at(2) == {"validation_error": 0.1, "best_epoch": 1}
    assert trial.at(3) is None
    plain = KnownTrial(epochs={1: {"validation_error": 0.1}, 2: {"validation_error": 0.3}})
    assert plain.at(2) == {"validation_error": 0.3}
