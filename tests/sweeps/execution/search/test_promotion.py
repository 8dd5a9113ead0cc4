"""Trials wait at a rung. The same ones are promoted whichever process is killed."""

import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from search_spaces import NoImprovement, PromotionAsha, Search
from search_spaces.plans.decisions import Continue, Pause, Propose, Stop
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.execution.search.observation import Observation
from sweeps.execution.search.search_known import SearchKnown
from sweeps.execution.survey.surveyed_cells import CellState, surveyed
from sweeps.execution.view.live_view import summary
from sweeps.execution.worker.trial import TrialJob
from sweeps.records.cell_contents import TrialSpec
from tests.sweeps.execution.search import test_kills
from tests.sweeps.execution.search.examples import confirm, rate_of, searched
from tests.sweeps.execution.search.scores import number_of, of, random
from tests.sweeps.execution.search.simulated import Killed, Launch, World, train_elsewhere
from tests.sweeps.execution.search.test_kills import KillAfter, KillEach, Snapshots, Unbroken

pytestmark = pytest.mark.usefixtures("few_points_tried")

HALF = PromotionAsha(grace=0.3, reduction_factor=2)  # of three epochs: rungs after 1 and 2


def score(spec: TrialSpec, epoch: int) -> float:
    """Return an error that falls with the epochs, best for one learning rate."""
    return 0.1 + abs(math.log10(rate_of(spec.config)) + 3.1) / 4 + 0.2 / epoch


@pytest.fixture(autouse=True)
def _soon_something_to_learn_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Search, "num_startup", 2)
    monkeypatch.setattr("sweeps.execution.plan.definition.num_parameters", test_kills.built)


@pytest.fixture(scope="module")
def definition() -> SweepDefinition:
    settings = {"trials": 5, "seeds": (0, 1), "sampler": "tpe", "scheduler": HALF}
    return searched(**settings, confirm=confirm(1, (101,)))


def lengths(world: World, launch: Launch) -> dict[int, int]:
    """Return how many epochs of each proposal were trained, by number, on its first seed."""
    trained = world.epochs_trained()
    first = {cell.arm: cell.trial_key for cell in reversed(launch.manifest.cells)}
    del first["base"]
    return {
        int(arm.split()[1]): sum(count for (key, _), count in trained.items() if key == first_key)
        for arm, first_key in first.items()
    }


def test_all_wait_at_a_rung_and_the_best_half_of_them_goes_on(
    world: World, run: Callable[..., Launch]
) -> None:
    launch = run(random(trials=6, scheduler=HALF), of(0.1, 0.3, 0.5, 0.6, 0.7, 0.8))
    arms = {
        cell.trial_key: number_of(launch.definition.spec(cell)) for cell in launch.manifest.cells
    }
    decisions = [
        (type(decision).__name__[0], arms[decision.trial_key], decision.epoch)
        for decision in launch.decisions()
        if isinstance(decision, Pause | Continue | Stop)
    ]
    assert decisions == [
        *[("P", 0, 1), ("P", 1, 1), ("C", 0, 1), ("P", 0, 2), ("P", 2, 1), ("P", 3, 1)],
        *[("C", 1, 1), ("P", 1, 2), ("C", 0, 2), ("P", 4, 1), ("P", 5, 1)],
        *[("C", 2, 1), ("P", 2, 2)],
        *[("S", 1, 2), ("S", 2, 2), ("S", 3, 1), ("S", 4, 1), ("S", 5, 1)],
    ]
    assert lengths(world, launch) == {0: 3, 1: 2, 2: 2, 3: 1, 4: 1, 5: 1}
    assert launch.observations()[1] == Observation("pruned", 0.3, 2)
    assert launch.observations()[0].state == "complete"
    assert set(world.epochs_trained().values()) == {1}, "each goes on from its checkpoint"
    assert (launch.board.num_done, launch.board.num_pruned) == (7, 5)


@pytest.mark.parametrize(("best", "num_full"), [(None, 1), (1, 1), (3, 3)])
def test_as_many_reach_the_full_length_as_are_confirmed(
    world: World, run: Callable[..., Launch], best: int | None, num_full: int
) -> None:
    quarter = PromotionAsha(grace=0.3, reduction_factor=4)
    confirmation = confirm(best) if best else None
    launch = run(random(trials=4, scheduler=quarter, confirm=confirmation), of(0.4, 0.3, 0.2, 0.1))
    full = [number for number, length in lengths(world, launch).items() if length == 3]
    assert full == [3, 2, 1][:num_full][::-1], "the best at their rung"


def test_where_the_promoted_diverge_and_fail_the_next_is_of_full_length(
    world: World, run: Callable[..., Launch]
) -> None:
    def lost(spec: TrialSpec, epoch: int) -> float:
        number = number_of(spec)
        if number == 0 and epoch == 2:
            raise ValueError
        return math.nan if number == 1 and epoch == 3 else (number + 1) / 10

    launch = run(random(trials=4, scheduler=HALF), lost)
    assert launch.states() == ["failed", "diverged", "complete", "pruned"]


def test_an_end_of_the_search_leaves_nobody_waiting(
    world: World, run: Callable[..., Launch]
) -> None:
    ends = (NoImprovement(proposals=3),)
    launch = run(random(trials=6, scheduler=HALF, stop=ends), of(0.1, 0.3, 0.5, 0.6, 0.7, 0.8))
    assert launch.manifest.search
    assert len(launch.proposals()) == 4, "three wait when the first is of full length"
    assert launch.manifest.search.ended
    assert not launch.plan.known.waiting
    assert launch.states() == ["complete", *["pruned"] * 3]


def test_what_another_sweep_brings_to_its_end_waits_no_longer(
    world: World, run: Callable[..., Launch]
) -> None:
    definition, values = random(trials=4, scheduler=HALF), of(0.1, 0.3, 0.5, 0.6)
    with pytest.raises(Killed):
        Launch(world, definition, values, step=KillAfter(60)).run()
    resumed = world.resumed(definition)
    cell = next(cell for cell in resumed.manifest.cells if cell.trial_key in resumed.waiting)
    train_elsewhere(world, TrialJob(cells=str(world.cells), spec=resumed.spec(cell)), values)
    launch = run(definition, values)
    assert not launch.plan.known.waiting
    assert launch.observations()[number_of(resumed.spec(cell))].state == "complete"
    assert set(world.epochs_trained().values()) == {1}


def test_seeds_of_a_proposal_wait_for_each_other_and_go_on_together(
    world: World, run: Callable[..., Launch], definition: SweepDefinition
) -> None:
    launch = run(definition, score)
    kinds: dict[tuple[str, str, int], int] = {}
    arms = {cell.trial_key: cell.arm for cell in launch.manifest.cells}
    decisions = world.decisions(definition)
    for decision in decisions:
        if isinstance(decision, Pause | Continue | Stop):
            place = (type(decision).__name__, arms[decision.trial_key], decision.epoch)
            kinds[place] = kinds.get(place, 0) + 1
    assert set(kinds.values()) == {2}
    proposals = [decision for decision in decisions if isinstance(decision, Propose)]
    assert len(proposals) == 5


def test_what_waits_is_told_as_waiting_and_keeps_its_checkpoint(
    world: World, definition: SweepDefinition
) -> None:
    with pytest.raises(Killed):
        Launch(world, definition, score, step=KillAfter(60)).run()
    second = Launch(world, definition, score)
    waiting = second.plan.known.waiting
    assert waiting
    assert all((world.cells / key / "checkpoint.safetensors").exists() for key in waiting)
    known = world.resumed(definition)
    assert known.waiting == waiting
    cells = surveyed(known.manifest.cells, {}, {}, known.waiting)
    assert not any(cell.state is CellState.WAITING for cell in cells), "nothing is in these folders"
    for key, epoch in waiting.items():
        second.board.paused(key, epoch)
    first = min(waiting.values())
    count = list(waiting.values()).count(first)
    assert f"{count} {'waits' if count == 1 else 'wait'} at epoch {first}" in summary(
        second.board, "example"
    )


def test_tpe_hears_of_who_waits_as_stopped_at_its_last_rung(world: World) -> None:
    settings = {"trials": 4, "sampler": "tpe", "scheduler": HALF}
    launch = Launch(
        world,
        searched(**settings),
        of(0.1, 0.4, math.nan, 0.3),
        step=lambda: heard.append(weighed()),
    )
    heard: list[list[Observation]] = []

    def weighed() -> list[Observation]:
        assert isinstance(launch.plan.known, SearchKnown)
        return list(launch.plan.known.weighed)

    launch.run()
    last = next(known for known in reversed(heard) if known[-1:] != [Observation("open")])
    assert last[1:3] == [Observation("pruned", 0.4, 1), Observation("pruned")]
    assert isinstance(launch.plan.known, SearchKnown)
    assert launch.plan.known.base_for_sampler == Observation("pruned", 0.5, 1)


def test_a_driver_killed_at_any_step_and_run_again_changes_nothing(
    tmp_path: Path, definition: SweepDefinition
) -> None:
    world = World(tmp_path / "unbroken")
    snapshots = Snapshots(world, tmp_path / "killed")
    unbroken = Unbroken(world, Launch(world, definition, score, step=snapshots).run())
    assert len(snapshots.taken) > 80
    for number, killed in enumerate(snapshots.taken[::3]):
        # without a store the log alone has to be enough
        resumed = killed if number % 2 else replace(killed, has_store=False)
        unbroken.expect_same(resumed, Launch(resumed, definition, score).run())


def test_a_driver_that_has_lost_its_log_comes_to_the_same(
    tmp_path: Path, definition: SweepDefinition
) -> None:
    world = World(tmp_path / "unbroken")
    snapshots = Snapshots(world, tmp_path / "killed")
    launch = Launch(world, definition, score, step=snapshots).run()
    expected = test_kills.came_to(world, launch)
    for killed in snapshots.taken[::12]:
        shutil.rmtree(killed.journals)
        outcome = test_kills.came_to(killed, Launch(killed, definition, score).run())
        assert outcome | {"noted": 0} == expected | {"noted": 0}


@pytest.mark.parametrize("at_step", range(1, 10))
def test_a_process_of_each_trial_killed_at_any_step_changes_nothing(
    tmp_path: Path, definition: SweepDefinition, at_step: int
) -> None:
    reference = World(tmp_path / "unbroken")
    unbroken = Unbroken(reference, Launch(reference, definition, score).run())
    world = World(tmp_path / "killed")
    kills = KillEach(at_step)
    launch = Launch(world, definition, score, trainer_step=kills).run()
    assert kills.num_kills > 0
    unbroken.expect_same(world, launch)
