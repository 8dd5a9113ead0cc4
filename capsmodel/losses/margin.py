"""The margin loss of the first capsule network, and the schedules of its margins."""

from abc import ABC
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from jaxtyping import Float, Shaped
from pydantic import Field, model_validator
from torch import Tensor

from capsmodel.functional import Margins as Margins
from capsmodel.functional import margin_loss
from capsmodel.functional.losses import Reduction
from capsmodel.losses.base import ClassWeightedLoss
from capsmodel.schedules import (
    ConstantSchedule,
    LinearSchedule,
    Midpoint,
    Number,
    Schedule,
    Steepness,
    blend,
    sigmoid,
)
from capsmodel.search_range import Floats
from capsmodel.settings.parts import OneOf, Part, Settings


class MarginSchedule(Part, Schedule[Margins, Number], ABC):
    """How the margins of a loss move during a training.

    They go by the share of the training that is done, in [0, 1]. A validation loss is taken with
    the margins in force after its epoch, so where they move, the losses of two epochs cannot be
    compared; errors can.
    """

    family: ClassVar[str] = "margin schedule"


class ConstantMargins(ConstantSchedule[Margins, Number], MarginSchedule):
    """The margins stay as the loss has set them."""

    kind: Literal["constant"] = "constant"


class StartingMargins(Settings):
    """Where moving margins start; all three move alike to those of the loss.

    By default the training starts with an easier task: the true class need be only 0.3 longer than
    the others, not 0.8, so the gradient dwells on images that are classified wrongly. The down
    weight moves only where it is set, here or in the loss: both defaults are 0.5.

    Source: none for these margins: neither the paper nor the released code of Sabour, Frosst and
    Hinton 2017 moves them. Hinton, Sabour and Frosst 2018 move the one margin of the spread loss.

    Attributes:
        positive_start: Length that the true class should reach at the start.
        negative_start: Length that the others should stay under at the start, below
            `positive_start`.
        down_weight_start: Weight of the other classes at the start.
    """

    positive_start: Annotated[float, Field(gt=0, le=1), Floats(0.5, 0.9)] = 0.6
    negative_start: Annotated[float, Field(ge=0, lt=1), Floats(0.05, 0.4)] = 0.3
    down_weight_start: Annotated[float, Field(gt=0), Floats(0.25, 1.0)] = 0.5

    @model_validator(mode="after")
    def _check_order(self) -> "StartingMargins":
        # In order at both ends, the margins are in order all the way: both move by one share.
        if self.negative_start >= self.positive_start:
            raise ValueError(
                f"negative_start must be below positive_start, got {self.negative_start} "
                f"and {self.positive_start}."
            )
        return self

    def between(self, end: Margins, share: Number) -> Margins:
        """Return the margins a share of the way to those of the loss; the ends are exact."""
        starts = (self.positive_start, self.negative_start, self.down_weight_start)
        return Margins(
            *(blend(start, margin, share) for start, margin in zip(starts, end, strict=True))
        )


class LinearMargins(StartingMargins, LinearSchedule[Margins], MarginSchedule):
    """The margins move evenly.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing".
    Difference: theirs is the margin of the spread loss.
    """

    kind: Literal["linear"] = "linear"


class SigmoidMargins(StartingMargins, MarginSchedule):
    """The margins move slowly at first and last, and fastest at the midpoint.

    Source: the authors of Hinton, Sabour and Frosst 2018 in their paper's open review.
    Difference: theirs is the margin of the spread loss; the curve here is stretched to reach both
    of its ends.

    Attributes:
        steepness: Slope of the sigmoid's argument: a rise from 12 % to 88 % takes 4 / steepness
            of the training.
        midpoint: Share of the training after which the curve is steepest.
    """

    kind: Literal["sigmoid"] = "sigmoid"
    steepness: Steepness = 10.0
    midpoint: Midpoint = 0.5

    def at(self, setting: Margins, when: Number) -> Margins:
        """Return the margins at the curve's progress."""
        low, now, high = (
            sigmoid(self.steepness * (progress - self.midpoint)) for progress in (0.0, when, 1.0)
        )
        return self.between(setting, (now - low) / (high - low))


MARGIN_SCHEDULES = (ConstantMargins, LinearMargins, SigmoidMargins)


class MarginLoss(ClassWeightedLoss):
    """The true class should be longer than one margin, every other shorter than another.

    Health: with ten classes and default settings a loss that stays at 3.645 means that every
    capsule is saturated, one that stays at 0.81 that every capsule is dead.

    The activations of matrix capsules are lengths as well: with these defaults it is the margin
    loss of table 1 in Hinton, Sabour and Frosst 2018.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, equation 4.
    Difference: none. The authors' code takes the mean over the classes too and halves it, which
    with ten classes weighs the reconstruction 20 times as much against it: the profile "official".

    Attributes:
        class_weights: Multiplier of an image's loss for each class that it may have; empty
            for 1. The mean over the images is not divided by them.
        positive_margin: Length that the true class should reach.
        negative_margin: Length that the other classes should stay under, below
            `positive_margin`.
        down_weight: Weight of the other classes.
        schedule: How margins and weight approach those above.
        reduction: "sum" adds up the classes, as the paper does; "half_mean" takes half their mean,
            as the authors' code does.

    Example:
        >>> import torch
        >>> lengths, labels = torch.tensor([[0.9, 0.1], [0.5, 0.6]]), torch.tensor([0, 1])
        >>> MarginLoss(positive_margin=0.8)(lengths, labels)
        tensor(0.0600)
        >>> MarginLoss().module(reduction="none")(lengths, labels)
        tensor([0.0000, 0.1700])
    """

    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"paper": {"reduction": "sum"}, "official": {"reduction": "half_mean"}}
    )
    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    kind: Literal["margin"] = "margin"
    positive_margin: Annotated[float, Field(gt=0, le=1), Floats(0.7, 0.95)] = 0.9
    negative_margin: Annotated[float, Field(ge=0, lt=1), Floats(0.05, 0.3)] = 0.1
    down_weight: Annotated[float, Field(gt=0), Floats(0.25, 1.0)] = 0.5
    schedule: Annotated[MarginSchedule, OneOf(MARGIN_SCHEDULES)] = ConstantMargins()
    reduction: Literal["sum", "half_mean"] = "sum"

    @model_validator(mode="after")
    def _check_order(self) -> "MarginLoss":
        if self.negative_margin >= self.positive_margin:
            raise ValueError(
                f"negative_margin must be below positive_margin, got {self.negative_margin} "
                f"and {self.positive_margin}."
            )
        return self

    def loss(
        self,
        lengths: Float[Tensor, "batch classes"],
        labels: Shaped[Tensor, "batch ..."],
        progress: Number,
        over_images: Reduction = "mean",
    ) -> Float[Tensor, "*batch"]:
        """Return the squared shortfalls of the classes, reduced, mean over the images."""
        final = Margins(self.positive_margin, self.negative_margin, self.down_weight)
        margins = self.schedule.at(final, progress)
        return margin_loss(
            lengths,
            labels,
            margins,
            over_classes=self.reduction,
            reduction=over_images,
            class_weights=self.class_weights,
        )
