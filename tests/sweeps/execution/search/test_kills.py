"""A search that is killed anywhere and run again ends as if nothing had happened."""

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from search_spaces import Search
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.records.cell_contents import TrialSpec
from tests.sweeps.execution.search.examples import confirm, expect_valid, rate_of, searched
from tests.sweeps.execution.search.scores import number_of
from tests.sweeps.execution.search.simulated import Killed, Launch, WorkerKilled, World

pytestmark = pytest.mark.usefixtures("few_points_tried")

NUM_TRIALS = 6


def built(_: object) -> int:
    """Return the parameters of any model, without building it."""
    return 7


def score(spec: TrialSpec, epoch: int) -> float:
    """Return an error that falls with the epochs, best for one learning rate."""
    return 0.1 + abs(math.log10(rate_of(spec.config)) + 3.1) / 4 + 0.2 / epoch


class Unbroken:
    """What a search came to that nobody disturbed."""

    def __init__(self, world: World, launch: Launch) -> None:
        self._came_to = came_to(world, launch)

    def expect_same(self, world: World, launch: Launch) -> None:
        """Check that another launch has the same results and trained and reported nothing twice."""
        for name, value in came_to(world, launch).items():
            assert value == self._came_to[name], name
        assert set(world.epochs_trained().values()) == {1}
        assert world.current() == (launch.manifest if world.has_store else None)
        expect_valid(launch.manifest)


def came_to(world: World, launch: Launch) -> dict[str, Any]:
    """Return the results of a search, without the steps to them."""
    return {
        "proposals": launch.proposals(),
        "noted": world.decisions(launch.definition),
        "manifest": launch.manifest,
        "epochs": set(world.epochs_trained()),
        "outboxes": {
            cell.trial_key: outbox_lines(world, cell.trial_key) for cell in launch.manifest.cells
        },
        "filled": {
            cell.trial_key
            for cell in launch.manifest.cells
            if world.folder(cell.trial_key).is_filled()
        },
    }


def outbox_lines(world: World, key: str) -> list[tuple[str, int, str]]:
    """Return what a trial's outbox tells, but for the starts."""
    lines, _ = world.folder(key).read_outbox()
    return [
        (line.type, line.epoch.epoch if line.epoch else 0, line.reason)
        for line in lines
        if line.type != "start"
    ]


class Snapshots:
    """Keeps what a driver would leave that was killed at any of its steps, each state once."""

    def __init__(self, world: World, folder: Path) -> None:
        self.taken: list[World] = []
        self._world = world
        self._folder = folder
        self._last: dict[Path, bytes] | None = None

    def __call__(self) -> None:
        files = (path for path in self._world.root.rglob("*") if path.is_file())
        contents = {path: path.read_bytes() for path in files}
        if contents != self._last:
            self.taken.append(self._world.copy(self._folder / str(len(self.taken))))
        self._last = contents


class KillAfter:
    """Kills a driver after some steps."""

    def __init__(self, num_steps: int) -> None:
        self._left = num_steps

    def __call__(self) -> None:
        self._left -= 1
        if self._left == 0:
            raise Killed


class KillEach:
    """Kills the first process of each trial at one of its steps, where it has as many."""

    def __init__(self, at_step: int) -> None:
        self.num_kills = 0
        self._at_step = at_step
        self._steps: Counter[str] = Counter()

    def __call__(self, trial_key: str) -> None:
        self._steps[trial_key] += 1
        if self._steps[trial_key] == self._at_step:
            self.num_kills += 1
            raise WorkerKilled


def is_killed(world: World, definition: SweepDefinition, step: KillAfter) -> bool:
    """Return whether a launch is killed before its end."""
    try:
        Launch(world, definition, score, step=step).run()
    except Killed:
        return True
    return False


@pytest.fixture(autouse=True)
def _soon_something_to_learn_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let TPE learn from the third proposal on, and take the models for built."""
    monkeypatch.setattr(Search, "num_startup", 2)
    monkeypatch.setattr("sweeps.execution.plan.definition.num_parameters", built)


@pytest.fixture(scope="module")
def definition() -> SweepDefinition:
    return searched(trials=NUM_TRIALS, sampler="tpe", confirm=confirm(2, (101,)))


def test_the_unbroken_search_has_all_that_a_kill_could_spoil(
    tmp_path: Path, definition: SweepDefinition
) -> None:
    world = World(tmp_path / "world")
    launch = Launch(world, definition, score).run()
    stopped = [cell for cell in launch.manifest.cells if cell.stopped]
    assert 1 <= len(stopped) < NUM_TRIALS - 2
    assert {verdict.is_stop for verdict in launch.verdicts()} == {True, False}
    assert launch.manifest.search
    assert launch.manifest.search.confirmation
    assert len(launch.manifest.search.confirmation.arms or ()) == 2


@pytest.mark.parametrize("first", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_a_driver_killed_at_any_step_and_run_again_changes_nothing(
    tmp_path: Path, definition: SweepDefinition, first: int
) -> None:
    world = World(tmp_path / "unbroken")
    snapshots = Snapshots(world, tmp_path / "killed")
    unbroken = Unbroken(world, Launch(world, definition, score, step=snapshots).run())
    assert len(snapshots.taken) > 80
    for number, killed in enumerate(snapshots.taken[first::2]):
        # without a store the log alone has to be enough
        resumed = killed if number % 3 else replace(killed, has_store=False)
        unbroken.expect_same(resumed, Launch(resumed, definition, score).run())


def test_a_driver_killed_again_and_again_gets_there(
    tmp_path: Path, definition: SweepDefinition
) -> None:
    reference = World(tmp_path / "unbroken")
    unbroken = Unbroken(reference, Launch(reference, definition, score).run())
    world = World(tmp_path / "killed")
    kills = [is_killed(world, definition, KillAfter(13)) for _ in range(20)]
    assert kills == sorted(kills, reverse=True)
    assert 5 < sum(kills) < 20
    unbroken.expect_same(world, Launch(world, definition, score).run())


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


def test_seeds_of_a_proposal_are_stopped_together_where_a_kill_came_between(
    tmp_path: Path,
) -> None:
    def step() -> None:
        stops = [verdict for launch in begun for verdict in launch.verdicts() if verdict.is_stop]
        if len(stops) == 1 and not killed:
            killed.append(world.copy(tmp_path / "killed"))

    world, begun, killed = World(tmp_path / "world"), list[Launch](), list[World]()
    two = searched(trials=NUM_TRIALS, sampler="random", seeds=(0, 1))
    begun.append(Launch(world, two, falling_back, step=step))
    begun[0].run(num_concurrent=2)
    launch = Launch(killed[0], two, falling_back).run(num_concurrent=2)
    stopped = Counter(cell.arm for cell in launch.manifest.cells if cell.stopped)
    assert len(stopped) > 2
    assert set(stopped.values()) == {2}
    assert launch.manifest == begun[0].manifest


def falling_back(spec: TrialSpec, epoch: int) -> float:
    """Return an error by which each proposal is worse than those before it."""
    return 0.3 + number_of(spec) / 100
