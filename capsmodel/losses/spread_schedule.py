"""Spread schedules: how the margin of the spread loss moves while the training goes on."""

import math
from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from capsmodel.search_range import Floats
from capsmodel.settings.parts import Part

_LARGEST_ARGUMENT = 10  # of the authors' sigmoid


class SpreadSchedule(Part, ABC):
    """How the margin of the spread loss moves while the training goes on.

    A validation loss is taken with the margin in force after its epoch, so where it moves, the
    losses of two epochs cannot be compared; errors can.
    """

    family: ClassVar[str] = "spread schedule"

    @abstractmethod
    def margin(self, final: float, progress: float) -> float:
        """Return the margin in force.

        Args:
            final: The loss's own.
            progress: Share of the training that is done, in [0, 1].
        """


class ConstantSpread(SpreadSchedule):
    """The margin stays as the loss has set it."""

    kind: Literal["constant"] = "constant"

    def margin(self, final: float, progress: float) -> float:
        """Return the loss's own margin."""
        return final


class LinearSpread(SpreadSchedule):
    """The margin moves evenly from the schedule's own to that of the loss.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing": below
    equation 3.
    Difference: none.

    Attributes:
        start: The margin at the start.
    """

    kind: Literal["linear"] = "linear"
    start: Annotated[float, Field(ge=0, le=1), Floats(0.1, 0.5)] = 0.2

    def margin(self, final: float, progress: float) -> float:
        """Return the margin between the two: exactly these at the ends."""
        return (1 - progress) * self.start + progress * final


class SigmoidSpread(SpreadSchedule):
    """The margin rises along a sigmoid, which comes near to its ends but does not reach them.

    Source: the authors of Hinton, Sabour and Frosst 2018 in their paper's open review: the margin
    is 0.2 + 0.79 sigmoid(min(10, step / 50,000 - 4)), so the loss's own is 0.99.
    Difference: the argument goes by the share of the training, not by its steps: the defaults are
    theirs for 2,000,000 steps, the length that their released code sets. For theirs in a training
    of N steps, at least 200,000, set the steepness to N / 50,000 and the midpoint to 200,000 / N.

    Attributes:
        start: What the margin is near to, and above, at the start.
        steepness: Slope of the sigmoid's argument, which is at most 10.
        midpoint: Share of the training after which the curve is steepest.
    """

    kind: Literal["sigmoid"] = "sigmoid"
    start: Annotated[float, Field(ge=0, le=1), Floats(0.1, 0.5)] = 0.2
    steepness: Annotated[float, Field(ge=0.1, le=500), Floats(4, 40, log=True)] = 40.0
    midpoint: Annotated[float, Field(ge=0, le=1), Floats(0.1, 0.9)] = 0.1

    def margin(self, final: float, progress: float) -> float:
        """Return the margin on the sigmoid between the two."""
        argument = min(_LARGEST_ARGUMENT, self.steepness * (progress - self.midpoint))
        return self.start + (final - self.start) / (1 + math.exp(-argument))


SPREAD_SCHEDULES = (ConstantSpread, LinearSpread, SigmoidSpread)
