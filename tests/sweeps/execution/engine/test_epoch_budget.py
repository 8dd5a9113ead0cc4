"""A launch whose budget of epochs is spent hands out no more, and what runs ends."""

from collections.abc import Callable

import pytest

from sweeps.execution.engine.cell_queue import EpochBudget
from sweeps.execution.plan.definition import SweepDefinition
from tests.sweeps.execution.search.examples import searched
from tests.sweeps.execution.search.scores import falling
from tests.sweeps.execution.search.simulated import Launch, World

EPOCHS = 3  # of each trial

Spend = Callable[[int | None, int], tuple[Launch, EpochBudget]]


@pytest.fixture
def definition() -> SweepDefinition:
    return searched(trials=5, sampler="random", scheduler="none")


@pytest.fixture
def spend(world: World, definition: SweepDefinition) -> Spend:
    def spent(epochs: int | None, num_concurrent: int = 1) -> tuple[Launch, EpochBudget]:
        launch = Launch(world, definition, falling)
        budget = EpochBudget(launch.queue, epochs)
        launch.queue = budget  # type: ignore[assignment]
        return launch.run(num_concurrent), budget

    return spent


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world") / "world")


@pytest.mark.parametrize(("epochs", "num_started"), [(1, 1), (EPOCHS, 1), (EPOCHS + 1, 2)])
def test_no_trial_is_handed_out_once_the_epochs_are_trained(
    spend: Spend, world: World, epochs: int, num_started: int
) -> None:
    launch, budget = spend(epochs, 1)
    assert len(launch.started) == num_started
    assert all(world.folder(key).is_filled() for key in launch.started)
    assert budget.is_spent
    trained = num_started * EPOCHS
    assert budget.sentence == f"The budget of {epochs} epochs is spent: {trained} were trained."


def test_epochs_of_a_shorter_training_are_not_counted(
    world: World, definition: SweepDefinition
) -> None:
    launch = Launch(world, definition, falling)
    first = definition.manifest.cells[0].trial_key
    budget = EpochBudget(launch.queue, EPOCHS, {first: EPOCHS - 1})
    launch.queue = budget  # type: ignore[assignment]
    launch.run(1)
    assert len(launch.started) == 2


def test_several_at_once_are_all_trained_to_their_end(spend: Spend, world: World) -> None:
    launch, _ = spend(2, 2)
    assert len(launch.started) == 2
    assert all(world.folder(key).is_filled() for key in launch.started)


def test_the_next_launch_has_a_budget_of_its_own(spend: Spend, world: World) -> None:
    first, _ = spend(EPOCHS, 1)
    second, _ = spend(EPOCHS, 1)
    rest, budget = spend(None, 1)
    started = first.started + second.started + rest.started
    assert len(started) == len(set(started)) == 6
    assert set(world.epochs_trained().values()) == {1}
    assert not budget.is_spent
