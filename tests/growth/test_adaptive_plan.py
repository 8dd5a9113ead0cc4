"""A plan that decides by results, in the sweep's own file; killed, and run again."""

from pathlib import Path

import pytest

from search_spaces.plans.decisions import DONE, Decision, Propose, Select, Stop
from sweeps.execution.plan.definition import Changes, SweepDefinition, define
from sweeps.execution.survey.surveyed_cells import check_dropped_cells
from sweeps.execution.sweep_log import stored_entries
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.errors import BadInput
from sweeps.records.sweep_log import Decided
from tests.end_to_end.command import Command
from tests.sweeps.execution.search.simulated import Launch, World

TEXT = '''\
"""Arms race: each round the better half is trained on one seed more, the hopeless are stopped."""

from collections.abc import Mapping
from typing import Any, Literal

from capsmodel import TrainingConfig
from capsmodel.models import CapsNet
from capsmodel.reconstruction import NoReconstruction
from capsmodel.stopping import FixedEpochs
from search_spaces import Cell, Plan, Sweep
from search_spaces.plans.decisions import DONE, WAIT, Select, EpochTold, Propose, SlotFree, Stop


class Halving(Plan):
    """Successive halving over seeds; a trial far beyond the best of its epoch is stopped."""

    kind: Literal["halving"] = "halving"
    arms: Mapping[str, Mapping[str, Any]]
    hopeless: float = 0.5

    def decide(self, definition, journal, event):
        if isinstance(event, EpochTold):
            return self._verdict(journal, event)
        if not isinstance(event, SlotFree):
            return ()
        seeds = definition.arm_seeds
        in_race = list(self.arms)
        for place, seed in enumerate(seeds):
            cells = [Cell(arm, self.arms[arm], seed) for arm in in_race]
            if any(cell.place not in journal.cells for cell in cells):
                return (Propose(tuple(cells)),)
            trials = {arm: journal.trial(arm, seed) for arm in in_race}
            if any(trial.is_open for trial in trials.values()):
                return (WAIT,)
            means = {arm: self._mean(journal, arm, seeds[: place + 1]) for arm in in_race}
            in_race = sorted(in_race, key=means.get)[: max(1, len(in_race) // 2)]
        if journal.chosen:
            return (DONE,)
        return (Select(tuple(in_race)),)

    def _mean(self, journal, arm, seeds):
        trials = [journal.trial(arm, seed) for seed in seeds]
        return sum(trial.last.get("validation_error", 1.0) for trial in trials) / len(trials)

    def _verdict(self, journal, event):
        value = event.metrics["validation_error"]
        others = [
            trial.epochs[event.epoch]["validation_error"]
            for trial in map(journal.trial, *zip(*journal.cells))
            if event.epoch in trial.epochs
        ]
        is_last = event.epoch == journal.num_epochs[next(iter(self.arms))]
        if is_last or value <= min(others) + self.hopeless:
            return ()
        return (Stop(event.trial_key, event.epoch, value),)


SWEEP = Sweep(
    name="example",
    base=TrainingConfig(
        model=CapsNet(
            conv_channels=4,
            conv_kernel=3,
            primary_types=1,
            primary_dim=2,
            primary_kernel=3,
            primary_stride=2,
            class_dim=2,
            reconstruction=NoReconstruction(),
        ),
        stopping=FixedEpochs(epochs=3),
        batch_size=2048,
    ),
    plan=Halving(arms={f"rate {rate}": {"optimiser.learning_rate": rate} for rate in (
        0.001, 0.002, 0.003, 0.004)}),
    seeds=(0, 1, 2),
)
'''


def written(folder: Path, text: str = TEXT) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "example.py"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def definition(tmp_path: Path) -> SweepDefinition:
    return define(written(tmp_path / "file"), Changes(), ())


def score(spec: TrialSpec, epoch: int) -> float:
    """Return an error that is least at a rate of 0.003; a rate of 0.001 is hopeless."""
    rate = spec.config["optimiser"]["learning_rate"]
    far = 0.9 if rate < 0.0015 else abs(rate - 0.003) * 50
    return far + 0.01 * spec.seed + 0.01 / epoch


def decisions(world: World, definition: SweepDefinition) -> list[Decision]:
    return world.decisions(definition)


def test_the_first_round_is_known_before_anything_runs(definition: SweepDefinition) -> None:
    assert len(definition.manifest.cells) == 4
    assert {cell.seed for cell in definition.manifest.cells} == {0}
    assert definition.manifest.is_growing


def test_results_decide_what_is_trained_next(tmp_path: Path, definition: SweepDefinition) -> None:
    world = World(tmp_path / "world")
    launch = Launch(world, definition, score).run()
    cells = [(cell.arm, cell.seed) for cell in launch.manifest.cells]
    first = [(f"rate {rate}", 0) for rate in (0.001, 0.002, 0.003, 0.004)]
    assert cells == [*first, ("rate 0.003", 1), ("rate 0.002", 1), ("rate 0.003", 2)]
    stopped = [cell.arm for cell in launch.manifest.cells if cell.stopped]
    assert stopped == [], "nobody was better yet when the hopeless one was trained"
    assert launch.manifest.plan
    assert launch.manifest.plan.chosen == ("rate 0.003",)
    assert not launch.manifest.is_growing
    entries = decisions(world, definition)
    assert [type(decision) for decision in entries] == [Propose, Propose, Select, type(DONE)]


def test_a_hopeless_trial_is_stopped(tmp_path: Path) -> None:
    text = TEXT.replace("0.001, 0.002, 0.003", "0.002, 0.001, 0.003")
    definition = define(written(tmp_path / "file", text), Changes(), ())
    world = World(tmp_path / "world")
    launch = Launch(world, definition, score).run()
    assert [cell.arm for cell in launch.manifest.cells if cell.stopped] == ["rate 0.001"]
    assert [
        decision.epoch for decision in decisions(world, definition) if isinstance(decision, Stop)
    ] == [1]


def test_killed_at_any_step_and_run_again_it_decides_the_same(tmp_path: Path) -> None:
    text = TEXT.replace("0.001, 0.002, 0.003", "0.002, 0.001, 0.003")
    definition = define(written(tmp_path / "file", text), Changes(), ())
    world, copies = World(tmp_path / "unbroken"), list[World]()

    def snapshot() -> None:
        copies.append(world.copy(tmp_path / f"killed {len(copies)}"))

    unbroken = Launch(world, definition, score, step=snapshot).run()
    assert len(copies) > 40
    for number, copy in enumerate(copies):
        resumed = copy if number % 2 else World(copy.root, has_store=False)
        launch = Launch(resumed, definition, score).run()
        assert launch.manifest == unbroken.manifest
        assert decisions(resumed, definition) == decisions(world, definition)
        assert set(resumed.epochs_trained().values()) == {1}


def test_run_again_it_does_nothing(tmp_path: Path, definition: SweepDefinition) -> None:
    world = World(tmp_path / "world")
    Launch(world, definition, score).run()
    known = decisions(world, definition)
    resumed = Launch(world, definition, score).run()
    assert resumed.started == []
    assert decisions(world, definition) == known


def test_another_plan_does_not_go_on_from_its_decisions(
    tmp_path: Path, definition: SweepDefinition
) -> None:
    world = World(tmp_path / "world")
    Launch(world, definition, score).run()
    other = define(written(tmp_path / "file", TEXT.replace("// 2", "// 3")), Changes(), ())
    assert other.decided_by != definition.decided_by
    with pytest.raises(BadInput, match="its plan's code or settings"):
        check_dropped_cells(world.current(), other.manifest)


@pytest.mark.nightly  # it is killed at every step above; end_to_end/test_kills.py kills a design
def test_killed_in_mid_sweep_and_run_again_by_the_command_line(tmp_path: Path) -> None:
    path, journals = written(tmp_path), tmp_path / "capsweep-store" / "journals"
    command = Command(tmp_path, "run", str(path))
    command.wait_until(lambda: len(noted(journals)) >= 1)
    command.kill_all()
    before = noted(journals)
    resumed = Command(tmp_path, "run", str(path)).wait()
    assert resumed.code == 0, resumed.explained()
    after = noted(journals)
    assert after[: len(before)] == before
    assert [entry.kind for entry in after if entry.kind in {"propose", "select", "done"}] == [
        "propose",
        "propose",
        "select",
        "done",
    ]
    assert after[-2].decision.arms


def noted(journals: Path) -> list[Decided]:
    """Return the decisions in the log."""
    return [entry for entry in stored_entries(journals, "example") if isinstance(entry, Decided)]
