"""The spread loss of matrix capsules."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from jaxtyping import Float, Integer
from pydantic import Field
from torch import Tensor

from capsmodel.functional import spread_loss
from capsmodel.losses.class_weights import ClassWeightedLoss
from capsmodel.losses.spread_schedule import SPREAD_SCHEDULES, LinearSpread, SpreadSchedule
from capsmodel.search_range import Floats
from capsmodel.settings.parts import OneOf


class SpreadLoss(ClassWeightedLoss):
    """The true class should be longer than every other class by a margin that grows.

    Only differences of lengths count. Health: a loss that stays at (classes - 1) times the squared
    margin, 7.29 at the end with ten classes, means that all classes are equally long.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", equation 3.
    Difference: none. The authors' code takes the mean over all classes, the true one too, and its
    margin goes along a sigmoid to 0.99: the profile "official".

    Attributes:
        class_weights: What the loss of an image is multiplied by, one weight for each class that
            it may truly be of, or none. The mean over the images is the plain one.
        margin: By how much the true class should be longer at the end.
        schedule: How the margin moves.
        reduction: "sum" adds up the classes, as the paper does; "mean" divides that by their
            number, as the authors' code does.
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
    kind: Literal["spread"] = "spread"
    margin: Annotated[float, Field(gt=0, le=1), Floats(0.5, 1.0)] = 0.9
    schedule: Annotated[SpreadSchedule, OneOf(SPREAD_SCHEDULES)] = LinearSpread()
    reduction: Literal["sum", "mean"] = "sum"

    def loss(
        self,
        lengths: Float[Tensor, "batch classes"],
        labels: Integer[Tensor, " batch"],
        progress: float,
    ) -> Float[Tensor, ""]:
        """Return the squared shortfalls of the wrong classes, reduced, mean over the images."""
        margin = self.schedule.margin(self.margin, progress)
        return spread_loss(
            lengths, labels, margin, reduction=self.reduction, class_weights=self.class_weights
        )
