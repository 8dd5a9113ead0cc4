"""Sweep files to begin with: they run as they are, and their parts keep the laws of theirs."""

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from capsmodel.data import DataSet
from capsmodel.losses import Loss
from capsmodel.overrides import with_settings
from capsmodel.routing import VectorRouting
from capsmodel.testing import DataSetContract, LossContract, VectorRoutingContract
from capsmodel.training.training import Training
from search_spaces import Search
from search_spaces.codegen.example import example_text
from search_spaces.sweep_file import module_from_text

DESIGN: Any = module_from_text(example_text("mine"), "mine.py")
SEARCH: Any = module_from_text(example_text("found", is_search=True), "found.py")
SHORT = {"stopping.epochs": 1, "data.fraction": 0.1}


class TestItsData(DataSetContract):
    @pytest.fixture
    def data(self) -> DataSet:
        return DESIGN.MyImages(fraction=0.2)


class TestItsRouting(VectorRoutingContract):
    @pytest.fixture
    def routing(self) -> VectorRouting:
        return DESIGN.SharpenedRouting()


class TestItsLoss(LossContract):
    @pytest.fixture
    def loss(self) -> Loss:
        return DESIGN.SquaredError()


@pytest.mark.parametrize("arm", DESIGN.SWEEP.arms(), ids=lambda arm: arm.name)
def test_every_arm_of_the_design_trains(arm: Any) -> None:
    (metrics,) = Training(with_settings(arm.config, SHORT, DESIGN.SWEEP.parts), seed=0)
    assert math.isfinite(metrics.train_loss + metrics.validation_loss)


def test_the_base_of_the_search_trains_and_is_a_point_of_its_space() -> None:
    sweep = SEARCH.SWEEP
    (metrics,) = Training(with_settings(sweep.base, SHORT), seed=0)
    assert math.isfinite(metrics.train_loss + metrics.validation_loss)
    assert isinstance(sweep.plan, Search)
    names = [dimension.name for dimension in sweep.plan.space.dimensions]
    assert names == [
        "model.routing",
        "model.routing[dynamic].iterations",
        "model.class_dim",
        "optimiser.learning_rate",
    ]


def test_the_sweep_has_the_name_that_was_asked_for() -> None:
    assert (DESIGN.SWEEP.name, SEARCH.SWEEP.name) == ("mine", "found")
    assert "capsweep run mine.py" in example_text("mine")
    assert "my_sweep" not in example_text("mine") + example_text("found", is_search=True)


@pytest.mark.parametrize("words", [["format", "--check"], ["check", "--select=E,F,I,D,N,B,UP"]])
def test_ruff_has_nothing_to_say(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "mine.py").write_text(example_text("mine"), encoding="utf-8")
    (tmp_path / "found.py").write_text(example_text("found", is_search=True), encoding="utf-8")
    ruff = Path(sys.executable).parent / "ruff"
    options = ["--isolated", "--line-length=100", "--target-version=py311"]
    options += ["--ignore=D203,D213,D400,D413,D415"] * (words[0] == "check")
    done = subprocess.run(
        [ruff, *words, *options, "."], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
