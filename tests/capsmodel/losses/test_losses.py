import math
import re
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from capsmodel import TrainingConfig
from capsmodel.data import Digits
from capsmodel.losses import (
    LOSSES,
    ClassWeightedLoss,
    ConstantSpread,
    CrossEntropy,
    LinearMargins,
    MarginLoss,
    SigmoidSpread,
    SpreadLoss,
)
from capsmodel.models import Outputs
from capsmodel.overrides import with_settings
from capsmodel.settings.parts import kind_of
from capsmodel.testing import LossContract
from tests.capsmodel.small_config import small_config

Beliefs = list[list[float]]

weights_of_three = st.tuples(*[st.floats(0.1, 10)] * 3)


@st.composite
def batches(draw: st.DrawFn) -> tuple[Beliefs, list[int]]:
    classes, size = draw(st.integers(2, 12)), draw(st.integers(1, 6))
    row = st.lists(st.floats(0, 1), min_size=classes, max_size=classes)
    rows = draw(st.lists(row, min_size=size, max_size=size))
    return rows, draw(st.lists(st.integers(0, classes - 1), min_size=size, max_size=size))


def loss_of(loss: Any, beliefs: Beliefs, labels: list[int], progress: float = 0.0) -> float:
    lengths = torch.tensor(beliefs, dtype=torch.float64)
    return loss.loss(lengths, torch.tensor(labels), progress).item()


# Each loss as its paper writes it, one number at a time.


def margin_loss(v: list[float], k_true: int) -> float:
    total = 0.0
    for k, length in enumerate(v):
        t = 1 if k == k_true else 0
        total += t * max(0, 0.9 - length) ** 2 + 0.5 * (1 - t) * max(0, length - 0.1) ** 2
    return total


def spread_loss(a: list[float], t: int, m: float) -> float:
    total = 0.0
    for i, activation in enumerate(a):
        if i != t:
            total += max(0, m - (a[t] - activation)) ** 2
    return total


def cross_entropy(logits: list[float], t: int) -> float:
    return -math.log(math.exp(logits[t]) / sum(math.exp(logit) for logit in logits))


def mean_of(per_image: Callable[..., float], beliefs: Beliefs, labels: list[int]) -> float:
    return sum(map(per_image, beliefs, labels)) / len(labels)


@given(batches())
def test_the_margin_loss_is_its_papers(batch: tuple[Beliefs, list[int]]) -> None:
    assert loss_of(MarginLoss(), *batch) == pytest.approx(mean_of(margin_loss, *batch))


@given(batches(), st.floats(0, 1))
def test_the_spread_loss_is_its_papers(batch: tuple[Beliefs, list[int]], progress: float) -> None:
    margin = 0.2 + 0.7 * progress
    expected = mean_of(lambda a, t: spread_loss(a, t, margin), *batch)
    assert loss_of(SpreadLoss(), *batch, progress) == pytest.approx(expected)


@given(batches(), st.floats(1, 20))
def test_the_cross_entropy_is_the_negative_logarithm_of_the_softmax(
    batch: tuple[Beliefs, list[int]], scale: float
) -> None:
    expected = mean_of(lambda row, t: cross_entropy([scale * x for x in row], t), *batch)
    assert loss_of(CrossEntropy(scale=scale), *batch) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("length", "expected"), [(0.0, 0.81), (0.1, 0.64), (0.5, 0.88), (0.9, 2.88), (1.0, 3.645)]
)
def test_margin_loss_of_ten_equal_lengths_is_the_papers(length: float, expected: float) -> None:
    lengths = torch.full((4, 10), length, dtype=torch.float64)
    loss = MarginLoss().loss(lengths, torch.tensor([0, 3, 9, 9]), 0.0)
    assert_close(loss.item(), expected)


def test_margin_loss_takes_its_margins_and_weight_from_its_settings() -> None:
    loss = MarginLoss(positive_margin=0.8, negative_margin=0.2, down_weight=0.25)
    lengths = torch.tensor([[0.5, 0.6]], dtype=torch.float64)
    expected = (0.8 - 0.5) ** 2 + 0.25 * (0.6 - 0.2) ** 2
    assert_close(loss.loss(lengths, torch.tensor([0]), 0.0).item(), expected)


@pytest.mark.parametrize("negative", [0.9, 0.95])
def test_margins_must_be_in_order(negative: float) -> None:
    with pytest.raises(ValueError, match="negative_margin must be below positive_margin"):
        MarginLoss(negative_margin=negative)


@given(st.floats(0.01, 1), st.floats(0, 1), st.floats(0, 1), st.floats(1e-3, 0.5))
def test_spread_loss_is_zero_where_every_lead_is_the_margin_and_nowhere_else(
    margin: float, share: float, more: float, lack: float
) -> None:
    loss = SpreadLoss(margin=margin, schedule=ConstantSpread())
    other = share * (1 - margin)
    ahead = min(1.0, other + margin + more)
    assert loss_of(loss, [[other, ahead, 0.0]], [1]) == pytest.approx(0, abs=1e-30)
    assert loss_of(loss, [[other, other + margin - lack, 0.0]], [1]) >= 0.99 * lack**2


def test_cross_entropy_reads_scaled_lengths_as_logits() -> None:
    lengths = torch.tensor([[1.0, 0.5, 0.0]], dtype=torch.float64)
    total = math.exp(4) + math.exp(2) + 1
    loss = CrossEntropy(scale=4.0).loss(lengths, torch.tensor([1]), 0.0)
    assert_close(loss.item(), -math.log(math.exp(2) / total))


# What the authors' code does otherwise.


@given(st.lists(st.floats(0, 1), min_size=10, max_size=10), st.integers(0, 9))
def test_half_the_mean_is_a_twentieth_of_the_margin_loss_of_ten_classes(
    row: list[float], label: int
) -> None:
    paper, official = (
        loss_of(MarginLoss(reduction=r), [row], [label]) for r in ("sum", "half_mean")
    )
    assert official == pytest.approx(0.05 * paper, rel=1e-14)


@given(batches())
def test_the_margin_loss_of_the_authors_code_is_half_the_mean_over_images_and_classes(
    batch: tuple[Beliefs, list[int]],
) -> None:
    beliefs, labels = batch
    total = 0.0
    for row, true in zip(beliefs, labels, strict=True):
        for k, length in enumerate(row):
            # as there: around one half, with margins of 0.4 to both sides
            off = length - 0.5
            positive = max(0.0, 0.4 - off) ** 2 if k == true else 0.0
            negative = max(0.0, off + 0.4) ** 2 if k != true else 0.0
            total += 0.5 * positive + 0.5 * (0.5 * negative)
    official = loss_of(MarginLoss(reduction="half_mean"), beliefs, labels)
    assert official == pytest.approx(total / (len(labels) * len(beliefs[0])))


@given(batches(), st.floats(0, 1))
def test_the_mean_of_the_spread_loss_is_that_over_all_classes(
    batch: tuple[Beliefs, list[int]], progress: float
) -> None:
    total, mean = (loss_of(SpreadLoss(reduction=r), *batch, progress) for r in ("sum", "mean"))
    assert mean == pytest.approx(total / len(batch[0][0]))


def test_the_profiles_are_the_paper_and_the_authors_code() -> None:
    assert MarginLoss.of_profile("paper") == MarginLoss()
    assert MarginLoss.of_profile("official") == MarginLoss(reduction="half_mean")
    assert SpreadLoss.of_profile("paper") == SpreadLoss()
    assert SpreadLoss.of_profile("official") == SpreadLoss(
        margin=0.99, schedule=SigmoidSpread(), reduction="mean"
    )


def test_a_profile_leaves_what_the_authors_code_and_the_paper_share() -> None:
    official = MarginLoss.of_profile("official", down_weight=1.0, schedule=LinearMargins())
    assert official == MarginLoss(down_weight=1.0, schedule=LinearMargins(), reduction="half_mean")


# Weights of the classes.


BELIEFS = torch.rand(6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
LABELS = torch.tensor([0, 1, 2, 2, 0, 2])
weighted_losses = pytest.mark.parametrize("loss", LOSSES, ids=kind_of)


def judged(loss: ClassWeightedLoss, *, by_logits: bool = False) -> Tensor:
    outputs = Outputs(BELIEFS, None, BELIEFS * 7 if by_logits else None)
    return loss.judge(outputs, LABELS, 0.5)


@weighted_losses
@given(weights=weights_of_three)
@pytest.mark.parametrize("by_logits", [False, True])
def test_an_images_loss_is_times_the_weight_of_its_true_class(
    loss: type[ClassWeightedLoss], weights: tuple[float, ...], *, by_logits: bool
) -> None:
    def alone(image: int) -> float:
        row, label = BELIEFS[image : image + 1], LABELS[image : image + 1]
        return loss().judge(Outputs(row, None, row * 7 if by_logits else None), label, 0.5).item()

    total = sum(weights[label] * alone(image) for image, label in enumerate(LABELS.tolist()))
    ours = judged(loss(class_weights=weights), by_logits=by_logits)
    assert ours.item() == pytest.approx(total / 6)


@weighted_losses
@given(weights=weights_of_three)
def test_the_mean_is_plain_so_all_weights_doubled_double_the_loss(
    loss: type[ClassWeightedLoss], weights: tuple[float, ...]
) -> None:
    doubled = loss(class_weights=tuple(2 * weight for weight in weights))
    assert_close(judged(doubled), 2 * judged(loss(class_weights=weights)))


@weighted_losses
@pytest.mark.parametrize("by_logits", [False, True])
def test_weights_of_one_are_none(loss: type[ClassWeightedLoss], *, by_logits: bool) -> None:
    even = loss(class_weights=(1.0, 1.0, 1.0))
    assert_close(judged(even, by_logits=by_logits), judged(loss(), by_logits=by_logits))


@weighted_losses
@given(weights=weights_of_three, order=st.permutations(range(3)))
def test_weights_go_with_their_classes(
    loss: type[ClassWeightedLoss], weights: tuple[float, ...], order: list[int]
) -> None:
    renamed = torch.tensor(order).argsort()[LABELS]
    permuted = loss(class_weights=tuple(weights[old] for old in order))
    ours = permuted.loss(BELIEFS[:, order], renamed, 0.5)
    assert_close(ours, loss(class_weights=weights).loss(BELIEFS, LABELS, 0.5))


@weighted_losses
def test_weights_keep_the_number_type(loss: type[ClassWeightedLoss]) -> None:
    weighted = loss(class_weights=(0.1, 0.2, 0.3))
    assert weighted.loss(BELIEFS.float(), LABELS, 0.5).dtype == torch.float32


@weighted_losses
def test_a_wrong_number_of_weights_is_refused_with_the_settings(
    loss: type[ClassWeightedLoss],
) -> None:
    sentence = (
        "class_weights must be 10, one for each class of the data, got 3: give 10, or an "
        "empty list, [], to weigh all alike."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        TrainingConfig(loss=loss(class_weights=(1.0, 2.0, 3.0)))
    with pytest.raises(ValueError, match="class_weights must be 10, one for each class"):
        with_settings(TrainingConfig(loss=loss()), {"loss.class_weights": [1, 2, 3]})


class FiveClasses(Digits):
    num_classes: ClassVar[int] = 5


def test_weights_and_data_of_other_classes_are_set_at_once() -> None:
    ten = small_config(loss=MarginLoss(class_weights=(2.0,) * 10))
    changed = with_settings(ten, {"data": FiveClasses(), "loss.class_weights": [3] * 5})
    assert changed.loss == MarginLoss(class_weights=(3.0,) * 5)
    with pytest.raises(ValueError, match="class_weights must be 5, one for each class"):
        with_settings(ten, {"data": FiveClasses()})


@pytest.mark.parametrize("weight", [0.0, -1.0, math.inf])
def test_a_weight_is_a_number_above_zero(weight: float) -> None:
    with pytest.raises(ValueError, match="class_weights must be a list, each a number above 0"):
        MarginLoss(class_weights=(1.0, weight))


class TestReducedLosses(LossContract):
    @pytest.fixture(
        params=[
            MarginLoss.of_profile("official"),
            SpreadLoss.of_profile("official"),
            CrossEntropy(scale=1.0),
        ],
        ids=lambda loss: loss.kind,
    )
    def loss(self, request: pytest.FixtureRequest) -> ClassWeightedLoss:
        return request.param
