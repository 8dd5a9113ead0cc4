"""The laws of a user's loss raise no false alarm: losses of any scale, weight and moment pass."""

from collections.abc import Callable
from typing import Literal

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from capsmodel.functional.losses import Reduction
from capsmodel.losses import LOSSES, Loss, MarginLoss
from capsmodel.models import Outputs
from capsmodel.schedules import Number
from capsmodel.training.loss_laws import check_loss

_WEIGHTS = torch.linspace(0.1, 9, 10)


class ByFunction(Loss):
    """A loss that is a function of outputs, labels and progress."""

    kind: Literal["by_function"] = "by_function"
    function: Callable[[Outputs, Tensor, float], Tensor]

    def loss(self, lengths: Tensor, labels: Tensor, progress: float) -> Tensor:
        return self.function(Outputs(lengths, None), labels, progress)

    def judge(
        self,
        outputs: Outputs,
        labels: Tensor,
        progress: Number,
        over_images: Reduction = "mean",
    ) -> Tensor:
        return self.function(outputs, labels, float(progress))


def check(loss: Loss, *, are_probabilities: bool = False) -> None:
    """Check a loss by the outputs of a network for eight images and for two."""
    chance = torch.Generator().manual_seed(0)
    logits = torch.randn(8, 10, generator=chance)
    poses = torch.randn(8, 10, 4, generator=chance)
    lengths = logits.softmax(dim=1) if are_probabilities else logits.sigmoid()
    logits = logits if are_probabilities else None
    fewer = Outputs(lengths[:2], None, None if logits is None else logits[:2], poses[:2])
    check_loss(loss, Outputs(lengths, None, logits, poses), fewer)


@pytest.mark.parametrize("are_probabilities", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
def test_each_loss_of_the_package_passes(loss: type[Loss], are_probabilities: bool) -> None:
    if "class" in loss.takes:
        check(loss.model_validate({}), are_probabilities=are_probabilities)


def only_wrong(given: Outputs, labels: Tensor, _: float) -> Tensor:
    return given.lengths.scatter(1, labels.unsqueeze(1), 0.0).square().sum(dim=1).mean()


def written_in_place(given: Outputs, labels: Tensor, _: float) -> Tensor:
    lengths = given.lengths
    lengths += 0.0
    return -lengths.gather(1, labels.unsqueeze(1)).log().mean()


def of_poses(given: Outputs, labels: Tensor, _: float) -> Tensor:
    assert given.poses is not None
    poses = given.poses[torch.arange(len(labels)), labels]
    return torch.linalg.vector_norm(poses, dim=1).mean()


def warmed_up(given: Outputs, labels: Tensor, done: float) -> Tensor:
    return F.nll_loss(given.lengths.log(), labels) * (done > 0.2) + given.lengths.square().mean()


# What passes, and whether beliefs are probabilities.
UNUSUAL: dict[str, tuple[Callable[[Outputs, Tensor, float], Tensor], bool]] = {
    "weights whose sum divides": (
        lambda given, labels, _: F.nll_loss(given.lengths.log(), labels, weight=_WEIGHTS),
        False,
    ),
    "beliefs in wrong classes alone": (only_wrong, True),
    "a warm-up that looks at no label": (warmed_up, False),
    "poses alone": (of_poses, False),
    "random numbers": (
        lambda given, labels, _: F.nll_loss((given.lengths * torch.rand(10)).log(), labels),
        False,
    ),
    "writing": (written_in_place, False),
    "a negative loss": (
        lambda given, labels, _: -given.lengths.gather(1, labels.unsqueeze(1)).mean(),
        False,
    ),
    "large numbers": (
        lambda given, labels, _: 1e6 * F.nll_loss(given.lengths.log(), labels),
        False,
    ),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_an_unusual_loss_passes(name: str) -> None:
    function, are_probabilities = UNUSUAL[name]
    check(ByFunction(function=function), are_probabilities=are_probabilities)


def test_a_term_of_the_wrong_sign_is_named_where_beliefs_are_lengths() -> None:
    with pytest.raises(ValueError, match="never falls as the belief in the true class rises"):
        check(ByFunction(function=only_wrong))


def test_one_image_or_two_classes_are_enough() -> None:
    few = Outputs(torch.tensor([[0.4, 0.6]]), None)
    check_loss(MarginLoss(), few, few)
