"""A plain function as a loss."""

from typing import Annotated

import pytest
import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor
from torch.testing import assert_close

from capsmodel import Training, loss
from capsmodel.losses import CrossEntropy
from capsmodel.models import CapsNet, ConvNet, Outputs
from capsmodel.search_range import Floats, search_range
from capsmodel.testing import LossContract
from search_spaces.trial_key import differences
from tests.capsmodel.small_config import small_config, small_model


@loss
def focal(
    lengths: Tensor,
    labels: Tensor,
    gamma: Annotated[float, Field(ge=0), Floats(0.0, 5.0)] = 2.0,
) -> Tensor:
    """The focal loss of the lengths."""
    true = lengths.gather(1, labels[:, None]).clamp(min=1e-6)
    return (-((1 - true) ** gamma) * true.log()).mean()


@loss(kind="own_cross_entropy")
def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(logits, labels)


class TestFocal(LossContract):
    @pytest.fixture
    def loss(self) -> focal:  # pyright: ignore[reportInvalidTypeForm]
        return focal()


def test_its_other_arguments_are_settings() -> None:
    config = small_config(loss=focal(gamma=1.0))
    assert differences(config)["loss"] == {"kind": "focal", "gamma": 1.0}
    assert search_range(focal, "gamma") == Floats(0.0, 5.0)
    with pytest.raises(ValueError, match=r"gamma must be a number at least 0, got -1"):
        focal(gamma=-1)


def test_it_is_asked_with_what_it_names() -> None:
    model = ConvNet(conv_channels=(4,), conv_kernel=3, hidden=(8,))
    of_function, of_class = (
        [metrics.train_loss for metrics in Training(small_config(model=model, loss=part), 0)]
        for part in (cross_entropy(), CrossEntropy())
    )
    assert of_function == of_class
    with pytest.raises(ValueError, match=r"'own_cross_entropy' asks for logits, which the network"):
        next(iter(Training(small_config(model=small_model(), loss=cross_entropy()), 0)))


def test_progress_is_passed_where_it_is_named() -> None:
    @loss
    def growing(lengths: Tensor, labels: Tensor, progress: float) -> Tensor:
        del labels
        return progress * lengths.mean()

    outputs = Outputs(torch.full((2, 3), 0.5), None)
    assert_close(growing().judge(outputs, torch.tensor([0, 1]), 0.5), torch.tensor(0.25))


def test_what_cannot_be_a_loss_is_refused() -> None:
    with pytest.raises(TypeError, match=r"@loss takes a function, got"):
        loss(CapsNet)
    with pytest.raises(TypeError, match=r"@loss takes a function, got .*define one by `def`"):
        loss(lambda lengths, labels: lengths.mean())  # pyright: ignore[reportUnknownLambdaType]
    with pytest.raises(TypeError, match=r"must ask for labels, and for lengths or logits or poses"):

        @loss
        def no_labels(lengths: Tensor) -> Tensor:
            return lengths.mean()

    with pytest.raises(TypeError, match=r"The loss 'margin' is one of capsmodel's: rename margin"):

        @loss
        def margin(lengths: Tensor, labels: Tensor) -> Tensor:
            return lengths.mean()

    with pytest.raises(ValueError, match=r"is a function that returns the mean over the images"):
        focal().module(reduction="none")(torch.rand(2, 3), torch.tensor([0, 1]))
