"""The spread loss of matrix capsules."""

from typing import Annotated, Literal

from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from capsmodel.functional import one_hot
from capsmodel.losses.base import Loss
from capsmodel.losses.spread_schedule import SPREAD_SCHEDULES, LinearSpread, SpreadSchedule
from capsmodel.parts import OneOf
from capsmodel.search_range import Floats


class SpreadLoss(Loss):
    """The true class should be longer than every other class by a margin that grows.

    Only differences of lengths count. Health: a loss that stays at (classes - 1) times the squared
    margin, 7.29 at the end with ten classes, means that all classes are equally long.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", equation 3.
    Difference: none. The authors' code takes the mean over the classes too; in their open review
    they give another schedule, `SpreadLoss(margin=0.99, schedule=SigmoidSpread())`.

    Attributes:
        margin: By how much the true class should be longer at the end.
        schedule: How the margin moves.
    """

    kind: Literal["spread"] = "spread"
    margin: Annotated[float, Field(gt=0, le=1), Floats(0.5, 1.0)] = 0.9
    schedule: Annotated[SpreadSchedule, OneOf(SPREAD_SCHEDULES)] = LinearSpread()

    def loss(
        self,
        lengths: Float[Tensor, "batch classes"],
        labels: Int[Tensor, " batch"],
        progress: float,
    ) -> Float[Tensor, ""]:
        """Return the sum over the wrong classes of squared shortfalls, mean over the images."""
        margin = self.schedule.margin(self.margin, progress)
        lead = lengths.gather(1, labels.unsqueeze(1)) - lengths
        shortfall = (margin - lead).clamp(min=0).square()
        is_true = one_hot(labels, lengths.shape[1])
        return shortfall.masked_fill(is_true, 0.0).sum(dim=1).mean()
