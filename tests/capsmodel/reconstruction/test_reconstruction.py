import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor
from torch.testing import assert_close

from capsmodel import Training
from capsmodel.layers.linear import Decoder
from capsmodel.reconstruction import FullyConnectedDecoder
from tests.capsmodel.small_config import small_config, small_model

SHAPE = (2, 2, 3)
ERRORS = ("squared", "binary_cross_entropy")
LOGITS = (-1000.0, -100.0, -40.0, -20.0, -1.0, 0.0, 1.0, 10.0, 40.0, 1000.0)

pixels = st.lists(st.floats(0.01, 0.99), min_size=24, max_size=24)


def images_of(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64).view(2, *SHAPE)


def squared(drawn: float, true: float) -> float:
    return (drawn - true) ** 2


def binary_cross_entropy(drawn: float, true: float) -> float:
    return -(true * math.log(drawn) + (1 - true) * math.log(1 - drawn))


@given(pixels, pixels, st.floats(1e-4, 10))
@pytest.mark.parametrize("error", [squared, binary_cross_entropy], ids=ERRORS)
def test_the_penalty_is_the_weighted_sum_over_each_image_and_the_mean_over_images(
    error: Any, drawn: list[float], true: list[float], weight: float
) -> None:
    decoder = FullyConnectedDecoder(weight=weight, error=error.__name__)
    penalty = decoder.penalty(images_of(drawn), images_of(true))
    expected = weight * sum(map(error, drawn, true)) / 2
    assert penalty.item() == pytest.approx(expected)


def slopes(logits: Tensor, images: Tensor, error: Any) -> tuple[Tensor, Tensor]:
    """Return the penalty of a drawing with such logits, and its gradient by each of them."""
    logits = logits.clone().requires_grad_()
    decoder = FullyConnectedDecoder(weight=1.0, error=error)
    penalty = decoder.penalty(logits.sigmoid().view(1, 1, 1, -1), images.view(1, 1, 1, -1))
    penalty.backward()
    assert logits.grad is not None
    return penalty, logits.grad


@pytest.mark.parametrize("true", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("error", ERRORS)
def test_penalty_and_gradient_are_finite_however_certain_a_drawing_is(
    error: str, true: float
) -> None:
    penalty, gradient = slopes(torch.tensor(LOGITS), torch.full((len(LOGITS),), true), error)
    assert bool(penalty.isfinite())
    assert bool(gradient.isfinite().all())


def test_a_right_drawing_has_no_cross_entropy_and_no_gradient() -> None:
    penalty, gradient = slopes(
        torch.tensor([-1000.0, 1000.0]), torch.tensor([0.0, 1.0]), "binary_cross_entropy"
    )
    assert penalty == 0
    assert_close(gradient, torch.zeros(2))


@pytest.mark.parametrize("true", [0.0, 0.3, 1.0])
def test_the_gradient_of_the_cross_entropy_goes_past_the_sigmoid(true: float) -> None:
    logits = torch.tensor([-25.0, -15.0, -1.0, 0.0, 1.0, 8.0])
    _, gradient = slopes(logits, torch.full((6,), true), "binary_cross_entropy")
    assert_close(gradient, logits.sigmoid() - true, atol=1e-3, rtol=1e-3)


def test_the_gradient_of_the_squared_error_fades_where_a_drawing_is_certain() -> None:
    _, gradient = slopes(torch.tensor([-25.0]), torch.tensor([1.0]), "squared")
    assert float(gradient.abs()) < 1e-9


@pytest.mark.parametrize("error", ERRORS)
def test_a_decoder_learns_to_draw(error: Any) -> None:
    settings = FullyConnectedDecoder(hidden=(16,), weight=1.0, error=error)
    decoder = settings.build(4, SHAPE)
    assert isinstance(decoder, Decoder)
    decoder.initialise(torch.Generator().manual_seed(0))
    images = (torch.arange(24).view(2, *SHAPE) % 3 == 0).float()
    poses = torch.eye(4)[:2]
    optimiser = torch.optim.Adam(decoder.parameters(), lr=0.03)
    for _ in range(200):
        optimiser.zero_grad()
        settings.penalty(decoder(poses), images).backward()
        optimiser.step()
    assert_close(decoder(poses), images, atol=0.05, rtol=0)


def test_a_training_with_cross_entropy_lowers_it() -> None:
    decoder = FullyConnectedDecoder(hidden=(16,), weight=1.0, error="binary_cross_entropy")
    config = small_config(model=small_model(reconstruction=decoder))
    first, *_, last = Training(config, seed=0)
    assert last.validation_loss < 0.9 * first.validation_loss


def test_an_error_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValidationError, match="'squared' or 'binary_cross_entropy'"):
        FullyConnectedDecoder.model_validate({"error": "absolute"})
