"""What each evaluation finds, against a plain account of it."""

from typing import Literal

import pytest
import torch
from torch import Tensor

from capsmodel import Trained, Training
from capsmodel.data import DataSplits
from capsmodel.evaluation import Confidence, Evaluation, Findings, ShiftedTestError, TestError
from capsmodel.evaluation.base import EvaluatedSplit
from capsmodel.evaluation.shifted_test_error import shifted
from capsmodel.metrics import Metric
from capsmodel.testing import EvaluationContract
from tests.capsmodel.small_config import small_config

CONFIG = small_config()


@pytest.fixture(scope="module")
def training() -> Training:
    training = Training(CONFIG, seed=3)
    for _ in training:
        pass
    return training


@pytest.fixture(scope="module")
def data() -> DataSplits:
    return CONFIG.data.load("cpu")


def test_the_test_error_is_that_of_the_training(training: Training, data: DataSplits) -> None:
    result = training.test()
    findings = TestError().evaluate(training.trained(), data)
    assert findings.metrics == {"test_error": result.error}
    assert torch.equal(findings.images["predictions"], result.predictions)
    assert torch.equal(findings.images["labels"], result.labels)
    assert findings.images["test_error"].sum() / len(result.labels) == pytest.approx(result.error)


def moved_by_hand(images: Tensor, down: int, right: int) -> Tensor:
    """Return images moved pixel by pixel."""
    moved = torch.zeros_like(images)
    height, width = images.shape[2:]
    for row in range(height):
        for column in range(width):
            if 0 <= row + down < height and 0 <= column + right < width:
                moved[:, :, row + down, column + right] = images[:, :, row, column]
    return moved


@pytest.mark.parametrize(("down", "right"), [(-2, 0), (1, 0), (0, -1), (0, 2), (0, 0)])
def test_images_are_moved_pixel_by_pixel(down: int, right: int) -> None:
    images = torch.rand(2, 3, 5, 4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(shifted(images, down, right), moved_by_hand(images, down, right))


def test_the_curve_has_the_mean_over_the_directions_at_each_distance(
    training: Training, data: DataSplits
) -> None:
    findings = ShiftedTestError(pixels=2).evaluate(training.trained(), data)
    directions = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    names = ["error.shift_0", "error.shift_1", "error.shift_2"]
    assert list(findings.metrics) == names
    for distance, name in enumerate(names):
        moved = [
            training.trained()
            .predict(moved_by_hand(data.test.images, distance * down, distance * right))
            .classes
            for down, right in directions
        ]
        wrong = torch.stack([(classes != data.test.labels).double() for classes in moved])
        assert torch.equal(findings.images[name], wrong.mean(dim=0))
        assert findings.metrics[name] == pytest.approx(float(wrong.mean()), abs=1e-12)


def test_confidence_is_compared_with_the_share_that_is_right(
    training: Training, data: DataSplits
) -> None:
    evaluation = Confidence(bins=4)
    findings = evaluation.evaluate(training.trained(), data)
    said = training.trained().predict(data.validation.images)
    beliefs = said.lengths.max(dim=1).values.tolist()
    is_right = (said.classes == data.validation.labels).tolist()
    expected = 0.0
    for place in range(4):
        in_bin = [i for i, belief in enumerate(beliefs) if min(3, int(4 * belief)) == place]
        if in_bin:
            confidence = sum(beliefs[i] for i in in_bin) / len(in_bin)
            accuracy = sum(is_right[i] for i in in_bin) / len(in_bin)
            expected += len(in_bin) / len(beliefs) * abs(confidence - accuracy)
    assert findings.metrics["calibration_error"] == pytest.approx(expected, rel=1e-6)
    assert findings.metrics["mean_belief"] == pytest.approx(sum(beliefs) / len(beliefs), rel=1e-6)
    assert 0 < expected < 1


def test_an_evaluation_says_which_split_it_looks_at(training: Training, data: DataSplits) -> None:
    evaluations = (TestError(), ShiftedTestError(), Confidence(), Confidence(split="test"))
    splits = [evaluation.looks_at for evaluation in evaluations]
    assert splits == ["test", "test", "validation", "test"]
    for evaluation in evaluations:
        findings = evaluation.evaluate(training.trained(), data)
        split = data.validation if evaluation.looks_at == "validation" else data.test
        assert {len(values) for values in findings.images.values()} == {len(split)}


class Peeking(Evaluation):
    """One that selects by the test images and says that it does not."""

    kind: Literal["peeking"] = "peeking"

    @property
    def looks_at(self) -> EvaluatedSplit:
        return "validation"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return (self.metric("brightness"),)

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        del trained
        return Findings({"brightness": data.test.images.mean().item()})


class Undeclared(Peeking):
    """One that gives other metrics than it says."""

    kind: Literal["undeclared"] = "undeclared"  # pyright: ignore[reportIncompatibleVariableOverride]

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        del trained, data
        return Findings({"darkness": 0.0})


class Writing(Peeking):
    """One that writes to the images."""

    kind: Literal["writing"] = "writing"  # pyright: ignore[reportIncompatibleVariableOverride]

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        del trained
        data.validation.images.zero_()
        return Findings({"brightness": 0.0})


class Zeroing(Peeking):
    """One that writes to the network, and the same each time."""

    kind: Literal["zeroing"] = "zeroing"  # pyright: ignore[reportIncompatibleVariableOverride]

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        with torch.no_grad():
            for value in trained.network.parameters():
                value.zero_()
        return super().evaluate(trained, data)


@pytest.mark.parametrize(
    ("evaluation", "law"),
    [
        (Peeking(), "test_test_images_decide_nothing_where_it_looks_at_validation"),
        (Undeclared(), "test_it_gives_the_metrics_that_it_declares"),
        (Writing(), "test_the_images_are_not_written_to"),
    ],
    ids=["peeking", "undeclared", "writing"],
)
def test_the_contract_finds_what_breaks_it(
    evaluation: Evaluation, law: str, training: Training
) -> None:
    with pytest.raises(AssertionError):
        getattr(EvaluationContract(), law)(evaluation, training.trained())


def test_the_contract_finds_what_writes_to_its_network_whichever_law_comes_first(
    training: Training,
) -> None:
    contract, evaluation, trained = EvaluationContract(), Zeroing(), training.trained()
    contract.test_it_gives_something(evaluation, trained)
    contract.test_the_same_network_gives_the_same_to_the_last_bit(evaluation, trained)
    contract.test_the_images_are_not_written_to(evaluation, trained)
    with pytest.raises(AssertionError):
        contract.test_the_network_is_left_as_it_is(evaluation, trained)
