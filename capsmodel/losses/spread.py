"""The spread loss of matrix capsules, and the schedules of its margin."""

from abc import ABC
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from jaxtyping import Float, Shaped
from pydantic import Field
from torch import Tensor

from capsmodel.functional import spread_loss
from capsmodel.functional.losses import Reduction
from capsmodel.losses.base import ClassWeightedLoss
from capsmodel.schedules import (
    ConstantSchedule,
    LinearSchedule,
    Midpoint,
    Number,
    Schedule,
    Steepness,
    at_most,
    blend,
    exponential,
)
from capsmodel.search_range import Floats
from capsmodel.settings.parts import OneOf, Part

_LARGEST_ARGUMENT = 10.0  # of the authors' sigmoid


class SpreadSchedule(Part, Schedule[Number, Number], ABC):
    """How the margin of the spread loss moves during a training.

    It goes by the share of the training that is done, in [0, 1]. A validation loss is taken with
    the margin in force after its epoch, so where it moves, the losses of two epochs cannot be
    compared; errors can.
    """

    family: ClassVar[str] = "spread schedule"


class ConstantSpread(ConstantSchedule[Number, Number], SpreadSchedule):
    """The margin stays as the loss has set it."""

    kind: Literal["constant"] = "constant"


class LinearSpread(LinearSchedule[Number], SpreadSchedule):
    """The margin moves evenly from the schedule's own to that of the loss.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing": below
    equation 3.
    Difference: none.

    Attributes:
        start: The margin at the start.
    """

    kind: Literal["linear"] = "linear"
    start: Annotated[float, Field(ge=0, le=1), Floats(0.1, 0.5)] = 0.2

    def between(self, end: Number, share: Number) -> Number:
        """Return the margin a share of the way to that of the loss; the ends are exact."""
        return blend(self.start, end, share)


class SigmoidSpread(SpreadSchedule):
    """The margin rises along a sigmoid, which comes near to its ends but does not reach them.

    Source: the authors of Hinton, Sabour and Frosst 2018 in their paper's open review: the margin
    is 0.2 + 0.79 sigmoid(min(10, step / 50,000 - 4)), so the loss's own is 0.99.
    Difference: the argument goes by the share of the training, not by its steps: the defaults are
    theirs for 2,000,000 steps, the length that their released code sets. For theirs in a training
    of N steps, at least 200,000, set the steepness to N / 50,000 and the midpoint to 200,000 / N.

    Attributes:
        start: Lower end of the margin, which starts just above it.
        steepness: Slope of the sigmoid's argument, which is at most 10.
        midpoint: Share of the training after which the curve is steepest.
    """

    kind: Literal["sigmoid"] = "sigmoid"
    start: Annotated[float, Field(ge=0, le=1), Floats(0.1, 0.5)] = 0.2
    steepness: Steepness = 40.0
    midpoint: Midpoint = 0.1

    def at(self, setting: Number, when: Number) -> Number:
        """Return the margin on the sigmoid between the two."""
        argument = at_most(self.steepness * (when - self.midpoint), _LARGEST_ARGUMENT)
        return self.start + (setting - self.start) / (1 + exponential(-argument))


SPREAD_SCHEDULES = (ConstantSpread, LinearSpread, SigmoidSpread)


class SpreadLoss(ClassWeightedLoss):
    """The true class should be longer than every other class by a margin that grows.

    Only differences of lengths count. Health: a loss that stays at (classes - 1) times the squared
    margin, 7.29 at the end with ten classes, means that all classes are equally long.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", equation 3.
    Difference: none for one class an image; of several, each true class is compared with every
    wrong one, which no paper has. The authors' code takes the mean over all classes, the true one
    too, and its margin goes along a sigmoid to 0.99: the profile "official".

    Attributes:
        class_weights: Multiplier of an image's loss for each class that it may have; empty
            for 1. The mean over the images is not divided by them.
        margin: By how much the true class should be longer at the end.
        schedule: Schedule of the margin.
        reduction: "sum" adds up the classes, as the paper does; "mean" divides that by their
            number, as the authors' code does.

    Example:
        >>> import torch
        >>> SpreadLoss(margin=0.5)(torch.tensor([[0.9, 0.1], [0.5, 0.6]]), torch.tensor([0, 1]))
        tensor(0.0800)
    """

    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "paper": {
                "margin": 0.9,
                "schedule.kind": "linear",
                "schedule.start": 0.2,
                "reduction": "sum",
            },
            "official": {
                "margin": 0.99,
                "schedule.kind": "sigmoid",
                "schedule.start": 0.2,
                "schedule.steepness": 40.0,
                "schedule.midpoint": 0.1,
                "reduction": "mean",
            },
        }
    )
    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    kind: Literal["spread"] = "spread"
    margin: Annotated[float, Field(gt=0, le=1), Floats(0.5, 1.0)] = 0.9
    schedule: Annotated[SpreadSchedule, OneOf(SPREAD_SCHEDULES)] = LinearSpread()
    reduction: Literal["sum", "mean"] = "sum"

    def loss(
        self,
        lengths: Float[Tensor, "batch classes"],
        labels: Shaped[Tensor, "batch ..."],
        progress: Number,
        over_images: Reduction = "mean",
    ) -> Float[Tensor, "*batch"]:
        """Return the squared shortfalls of the wrong classes, reduced, mean over the images."""
        margin = self.schedule.at(self.margin, progress)
        return spread_loss(
            lengths,
            labels,
            margin,
            over_classes=self.reduction,
            reduction=over_images,
            class_weights=self.class_weights,
        )
