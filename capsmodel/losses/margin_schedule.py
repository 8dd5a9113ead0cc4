"""Margin schedules: how the margins of the margin loss move while the training goes on."""

import math
from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from capsmodel.functional import Margins as Margins
from capsmodel.search_range import Floats
from capsmodel.settings.parts import Part, Settings


class MarginSchedule(Part, ABC):
    """How the margins of a loss move while the training goes on.

    A validation loss is taken with the margins in force after its epoch, so where they move,
    the losses of two epochs cannot be compared; errors can.
    """

    family: ClassVar[str] = "margin schedule"

    @abstractmethod
    def margins(self, final: Margins, progress: float) -> Margins:
        """Return the margins in force.

        Args:
            final: The loss's own.
            progress: Share of the training that is done, in [0, 1].
        """


class ConstantMargins(MarginSchedule):
    """The margins stay as the loss has set them."""

    kind: Literal["constant"] = "constant"

    def margins(self, final: Margins, progress: float) -> Margins:
        """Return the loss's own margins."""
        return final


class StartingMargins(Settings):
    """Where moving margins start; they go to those of the loss, all three alike.

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

    def moved(self, final: Margins, share: float) -> Margins:
        """Return the margins a share of the way to the final ones: exactly these at the ends."""
        start = (self.positive_start, self.negative_start, self.down_weight_start)
        return Margins(*((1 - share) * a + share * b for a, b in zip(start, final, strict=True)))


class LinearMargins(StartingMargins, MarginSchedule):
    """The margins move evenly.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing".
    Difference: theirs is the margin of the spread loss.
    """

    kind: Literal["linear"] = "linear"

    def margins(self, final: Margins, progress: float) -> Margins:
        """Return the margins as far along as the training is."""
        return self.moved(final, progress)


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
    steepness: Annotated[float, Field(ge=0.1, le=500), Floats(4, 40, log=True)] = 10.0
    midpoint: Annotated[float, Field(ge=0, le=1), Floats(0.1, 0.9)] = 0.5

    def margins(self, final: Margins, progress: float) -> Margins:
        """Return the margins as far along as the curve is."""
        low, now, high = (self._sigmoid(moment) for moment in (0.0, progress, 1.0))
        return self.moved(final, (now - low) / (high - low))

    def _sigmoid(self, progress: float) -> float:
        return 1 / (1 + math.exp(-self.steepness * (progress - self.midpoint)))


MARGIN_SCHEDULES = (ConstantMargins, LinearMargins, SigmoidMargins)
