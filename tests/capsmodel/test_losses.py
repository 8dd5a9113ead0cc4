import math

import pytest
import torch
from pydantic import ValidationError
from torch.testing import assert_close

from capsmodel.losses import CrossEntropy, MarginLoss


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
    with pytest.raises(ValidationError, match="negative_margin must be below positive_margin"):
        MarginLoss(negative_margin=negative)


def test_cross_entropy_reads_scaled_lengths_as_logits() -> None:
    lengths = torch.tensor([[1.0, 0.5, 0.0]], dtype=torch.float64)
    total = math.exp(4) + math.exp(2) + 1
    loss = CrossEntropy(scale=4.0).loss(lengths, torch.tensor([1]), 0.0)
    assert_close(loss.item(), -math.log(math.exp(2) / total))
