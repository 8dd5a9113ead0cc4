"""A log whose end was lost: here alone, or also in the tracking store."""

import random as chances
from pathlib import Path

import pytest

from search_spaces import ListedArms, Sweep
from search_spaces.plans.decisions import Stop
from search_spaces.plans.search import Search
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.plan.definition import Changes, SweepDefinition, define
from sweeps.execution.sweep_log import SweepLog, log_path, stored_manifest
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.manifest import Manifest
from sweeps.records.sweep_log import LogLines
from tests.capsmodel.small_config import small_config
from tests.sweeps.execution.search.examples import confirm, expect_valid, searched
from tests.sweeps.execution.search.simulated import Launch, WorkerKilled, World
from tests.sweeps.execution.search.test_kills import Unbroken, score

pytestmark = pytest.mark.usefixtures("few_points_tried")

NUM_CONCURRENT = 3


@pytest.fixture(scope="module")
def definition() -> SweepDefinition:
    return searched(sampler="tpe", trials=8, confirm=confirm(1), seeds=(0,))


@pytest.fixture(autouse=True)
def _learning_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Search, "num_startup", 2)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, definition: SweepDefinition) -> World:
    """A search of several trials at once, ended."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Search, "num_startup", 2)
        world = World(tmp_path_factory.mktemp("whole") / "world")
        Launch(world, definition, score).run(num_concurrent=NUM_CONCURRENT)
    return world


def borders(world: World) -> list[int]:
    """Return the offsets of the lines in a log."""
    lines = LogLines(log_path(world.journals, "example").read_bytes()).lines
    sizes = [len(line) + 1 for line in lines]
    return [sum(sizes[:count]) for count in range(len(sizes) + 1)]


def cut(world: World, folder: Path, num_bytes: int, *, in_store: bool) -> World:
    """Return a copy of a world whose log has lost its end, and so has that in the store."""
    copy = world.copy(folder)
    path = log_path(copy.journals, "example")
    path.write_bytes(path.read_bytes()[:num_bytes])
    if in_store:
        copy.publish(SweepLog(copy.journals, "example"))
    return copy


def drawn(count: int) -> list[float]:
    chance = chances.Random(1)
    return [chance.random() for _ in range(count)]


@pytest.mark.parametrize("share", drawn(8))
def test_with_the_store_intact_the_search_is_the_same(
    ended: World, tmp_path: Path, definition: SweepDefinition, share: float
) -> None:
    unbroken = Unbroken(ended, Launch(ended, definition, score))
    size = borders(ended)[-1]
    for number, num_bytes in enumerate((int(share * size), border_before(ended, share))):
        copy = cut(ended, tmp_path / str(number), num_bytes, in_store=False)
        unbroken.expect_same(copy, Launch(copy, definition, score).run())


def border_before(world: World, share: float) -> int:
    known = borders(world)
    return known[int(share * len(known))]


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.nightly)])
def test_cut_here_and_in_the_store_nothing_is_trained_or_numbered_twice(
    ended: World, tmp_path: Path, definition: SweepDefinition, every: int
) -> None:
    ends = borders(ended)
    torn = [int(share * ends[-1]) for share in drawn(20)]
    for number, num_bytes in enumerate([*ends[::every], *torn[::every]]):
        copy = cut(ended, tmp_path / str(number), num_bytes, in_store=True)
        unnamed = trials(copy).keys() - named(copy)
        manifest = Launch(copy, definition, score).run(num_concurrent=NUM_CONCURRENT).manifest
        expect_valid(manifest)
        assert not manifest.is_growing
        assert set(copy.epochs_trained().values()) == {1}, "nothing is trained twice"
        expect_own_numbers(copy, manifest)
        assert manifest.search
        is_cut = bool(unnamed) and num_bytes >= ends[1]  # else the log is gone, and begins anew
        assert bool(manifest.search.cut_note) == is_cut, num_bytes
        again = Launch(copy, definition, score).run()
        assert (again.started, again.manifest) == ([], manifest)


def named(world: World) -> set[str]:
    """Return the trial keys that a log names."""
    manifest = stored_manifest(world.journals, "example")
    return {cell.trial_key for cell in manifest.cells} if manifest else set()


def trials(world: World) -> dict[str, tuple[str, object]]:
    """Return trial key -> arm and config, as the trials' folders say."""
    specs = {}
    for folder in world.cells.iterdir():
        lines, _ = CellFolder(world.cells, folder.name).read_outbox()
        head = next(line.head for line in lines if line.head)
        specs[folder.name] = (head.arm, head.config)
    return specs


def expect_own_numbers(world: World, manifest: Manifest) -> None:
    """Check that each proposal is the only one that was ever trained under its number."""
    configs = {arm.name: arm.config for arm in manifest.arms}
    for arm, config in trials(world).values():
        assert config == configs[arm], arm


def test_a_trial_that_was_stopped_stays_stopped_though_its_verdict_is_lost(tmp_path: Path) -> None:
    """One process dies, so its trial comes to the rung last, behind better ones."""
    definition = searched(sampler="random", trials=4, confirm=confirm(1), seeds=(0,))
    world = World(tmp_path / "world")
    base, first = definition.manifest.cells[0].trial_key, list[str]()

    def killed_once(trial_key: str) -> None:
        if not first and trial_key != base:
            first.append(trial_key)
            raise WorkerKilled

    def worse_first(spec: TrialSpec, epoch: int) -> float:
        return 0.9 / epoch if first[:1] == [spec.trial_key] else score(spec, epoch)

    launch = Launch(world, definition, worse_first, trainer_step=killed_once)
    launch.run(num_concurrent=4)  # the base and three proposals
    assert Stop(first[0], 2, 0.45) in launch.decisions()
    trained = world.epochs_trained()
    copy = cut(world, tmp_path / "left", 0, in_store=True)
    again = Launch(copy, definition, worse_first).run()
    assert Stop(first[0], 2, 0.45) in again.decisions()
    assert (again.started, again.manifest) == ([], launch.manifest)
    assert copy.epochs_trained() == trained


def test_a_design_needs_its_definition_alone(tmp_path: Path) -> None:
    plan = ListedArms(baseline="base", arms={"base": {}, "other": {"batch_size": 32}})
    design = define(
        Sweep(name="example", base=small_config(), plan=plan, seeds=(0, 1)), Changes(), ()
    )
    log = SweepLog(tmp_path, "example")
    log.declare(design.declared)
    log.start_launch(2)
    path = log_path(tmp_path, "example")
    content = path.read_bytes()
    for num_bytes in range(0, len(content), 37):
        path.write_bytes(content[:num_bytes])
        SweepLog(tmp_path, "example").declare(design.declared)
        assert stored_manifest(tmp_path, "example") == design.manifest
