"""Sweep files to begin with: they run as they are, and their parts keep the laws of theirs."""

import math
from pathlib import Path
from typing import Any

import pytest

from capsmodel.data import DataSet
from capsmodel.losses import Loss
from capsmodel.models import Model
from capsmodel.overrides import with_settings
from capsmodel.routing import VectorRouting
from capsmodel.testing import (
    DataSetContract,
    LossContract,
    ModelContract,
    VectorRoutingContract,
)
from capsmodel.training.training import Training
from search_spaces import Search
from search_spaces.sweep_file import module_from_text
from sweeps.execution.launch.writing.new_sweep import Example, example_text
from tests.sweeps.execution.launch.writing.ruff import assert_nothing_to_do

DESIGN: Any = module_from_text(example_text("mine"), "mine.py")
MODEL: Any = module_from_text(example_text("network", "model"), "network.py")
SEARCH: Any = module_from_text(example_text("found", "search"), "found.py")
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


class TestItsNetwork(ModelContract):
    @pytest.fixture
    def model(self) -> Model:
        return MODEL.SmallNet(width=4)


@pytest.mark.parametrize(
    "arm", [*DESIGN.SWEEP.arms(), *MODEL.SWEEP.arms()], ids=lambda arm: arm.name
)
def test_every_arm_of_the_designs_trains(arm: Any) -> None:
    parts = (*DESIGN.SWEEP.parts, *MODEL.SWEEP.parts)
    (metrics,) = Training(with_settings(arm.config, SHORT, parts), seed=0)
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
    assert "my_sweep" not in example_text("mine") + example_text("found", "search")


def test_ruff_has_nothing_to_say(tmp_path: Path) -> None:
    examples: dict[str, Example] = {"mine": "design", "found": "search", "network": "model"}
    texts = {name: example_text(name, example) for name, example in examples.items()}
    assert_nothing_to_do(tmp_path, texts)
