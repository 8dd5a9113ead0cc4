"""A kind of design in one file: the sweep's own, with its plan as a class in it."""

from pathlib import Path

import pytest

from search_spaces.sweep_file import sweep_from_file
from sweeps.execution.plan.definition import Changes, SweepDefinition, define
from sweeps.records.errors import BadInput
from sweeps.tracking.opening import open_store
from tests.end_to_end.command import Command

TEXT = '''\
"""One setting at a time is changed, from a base that all arms are compared with."""

from collections.abc import Mapping
from typing import Any, Literal

from capsmodel import TrainingConfig
from capsmodel.models import CapsNet
from capsmodel.reconstruction import NoReconstruction
from capsmodel.stopping import FixedEpochs
from search_spaces import Cell, Plan, Sweep
from search_spaces.plans.decisions import DONE


class OneFactor(Plan):
    """The base, and each level of each factor alone."""

    kind: Literal["one factor"] = "one factor"
    factors: Mapping[str, tuple[Any, ...]]

    def next_cells(self, definition, known):
        if known.cells:
            return DONE
        arms = {"base": {}}
        for path, levels in self.factors.items():
            arms |= {f"{path.split('.')[-1]} {level}": {path: level} for level in levels}
        return [Cell(arm, arms[arm], seed) for seed in definition.arm_seeds for arm in arms]

    def factor_levels(self):
        return self.factors


SWEEP = Sweep(
    name="one_at_a_time",
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
        stopping=FixedEpochs(epochs=1),
        batch_size=2048,
    ),
    plan=OneFactor(factors={"model.routing.iterations": (1, 2), "loss.positive_margin": (0.8,)}),
    seeds=(0, 1),
)
'''
ARMS = ("base", "iterations 1", "iterations 2", "positive_margin 0.8")


def written(folder: Path, text: str = TEXT) -> Path:
    path = folder / "one_at_a_time.py"
    path.write_text(text, encoding="utf-8")
    return path


def defined(path: Path, **changes: object) -> SweepDefinition:
    return define(path, Changes(**changes), ())  # pyright: ignore[reportArgumentType]


def test_its_cells_are_all_there_before_anything_runs(tmp_path: Path) -> None:
    definition = defined(written(tmp_path))
    manifest = definition.manifest
    assert [arm.name for arm in manifest.arms] == list(ARMS)
    assert (manifest.baseline, len(manifest.cells)) == ("base", 8)
    assert not manifest.is_growing
    assert definition.decided_by is None
    assert manifest.plan
    assert manifest.plan.factors["model.routing.iterations"] == (1, 2)
    assert len(defined(written(tmp_path), add_seeds=(7,)).manifest.cells) == 12


def test_its_code_is_part_of_the_definition_and_of_no_trial_key(tmp_path: Path) -> None:
    first = defined(written(tmp_path)).manifest
    same = defined(written(tmp_path, TEXT.replace("The base, and each", "Each"))).manifest
    changed = defined(written(tmp_path, TEXT.replace("{level}", "{level!s}"))).manifest
    assert first.plan
    assert changed.plan
    assert same.plan == first.plan
    assert changed.plan.definition != first.plan.definition
    assert changed.cells == first.cells


def test_what_its_arms_set_cannot_be_set_for_all(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"varied by the sweep itself \(arm 'positive_margin 0.8'"):
        defined(written(tmp_path), settings={"loss.positive_margin": 0.7})
    with pytest.raises(BadInput, match="only a search has trials"):
        defined(written(tmp_path), trials=3)


def test_without_its_file_it_is_refused(tmp_path: Path) -> None:
    sweep, _ = sweep_from_file(written(tmp_path))
    with pytest.raises(BadInput, match="a plan of its own"):
        define(sweep, Changes(), ())


@pytest.mark.slow
def test_it_is_planned_run_and_reported_by_the_command_line(tmp_path: Path) -> None:
    path = written(tmp_path)
    planned = Command(tmp_path, "plan", str(path)).wait()
    assert planned.code == 0, planned.explained()
    assert "positive_margin 0.8" in planned.output
    ran = Command(tmp_path, "run", str(path), "--engine", "inline").wait()
    assert ran.code == 0, ran.explained()
    second = Command(tmp_path, "run", str(path), "--engine", "inline").wait()
    assert second.code == 0, second.explained()
    table = (tmp_path / "reports" / "one_at_a_time" / "ablation.md").read_text(encoding="utf-8")
    assert all(arm in table for arm in ARMS)
    manifest = open_store(None, tmp_path / "capsweep-store").manifest("one_at_a_time")
    assert manifest.plan
