"""Evaluations of networks for several classes an image count by the task."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from capsmodel import Trained
from capsmodel.data import DataSplits
from capsmodel.evaluation import (
    BIM,
    AdversarialError,
    DistortedTestError,
    Findings,
    SwappedRouting,
)
from capsmodel.evaluation.victim import Victim
from tests.capsmodel.evaluation.pairs_network import pairs_network


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trained:
    return pairs_network(tmp_path, monkeypatch, epochs=2)


@pytest.fixture
def data(network: Trained) -> DataSplits:
    return network.config.data.load("cpu")


def is_wrong(network: Trained, data: DataSplits) -> Tensor:
    """Return whether the two classes believed in most are not those of a pair."""
    test = data.test.take(slice(None))
    two = network.predict(test.images).lengths.topk(2, dim=1).indices
    return ~test.labels.gather(1, two).all(dim=1)


def test_images_as_they_are_have_the_error_of_the_task(network: Trained, data: DataSplits) -> None:
    expected = is_wrong(network, data).double()
    assert 0 < expected.mean() < 1
    distorted = DistortedTestError(values=(0, 20)).evaluate(network, data)
    swapped = SwappedRouting(iterations=(1, 3)).evaluate(network, data)
    attacked = AdversarialError(attack=BIM(steps=2), epsilons=(0, 0.02)).evaluate(network, data)
    assert torch.equal(distorted.images["error.angle_0"], expected)
    assert torch.equal(swapped.images["error.iterations_3"], expected)
    assert swapped.metrics["changed.iterations_3"] == 0
    assert torch.equal(attacked.images["error.epsilon_0"].double(), expected)


def test_a_changed_set_of_classes_counts_as_changed(network: Trained, data: DataSplits) -> None:
    findings: Findings = SwappedRouting().evaluate(network, data)
    became_wrong = findings.images["error.iterations_1"] != findings.images["error.iterations_3"]
    assert bool((findings.images["changed.iterations_1"] >= became_wrong).all())


def test_an_attack_reaches_its_goal_where_a_wrong_class_outranks_a_true_one(
    network: Trained, data: DataSplits
) -> None:
    split = data.test.take(slice(None))
    rows = torch.arange(len(split))
    errs, reached, nearness = Victim(network, split).judge_and_measure(split.images, rows)
    assert torch.equal(errs, is_wrong(network, data))
    assert torch.equal(errs, reached)
    assert torch.equal(nearness > 0, errs)


@pytest.mark.parametrize("objective", ["loss", "lengths", "votes"])
def test_an_attack_breaks_pairs(network: Trained, data: DataSplits, objective: str) -> None:
    settings = {"epsilons": (0, 0.2), "objective": objective}
    findings = AdversarialError.model_validate(settings).evaluate(network, data)
    assert findings.metrics["error.epsilon_0.2"] > findings.metrics["error.epsilon_0"]


def test_no_class_comes_after_several(network: Trained, data: DataSplits) -> None:
    with pytest.raises(ValueError, match="is_targeted must be false for data of several classes"):
        AdversarialError(is_targeted=True).evaluate(network, data)
