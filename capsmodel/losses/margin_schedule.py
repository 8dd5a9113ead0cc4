"""Margin schedules: how the margins move while the training goes on."""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

from capsmodel.parts import Part


class MarginSchedule(Part, ABC):
    """How the margins of a loss move while the training goes on."""

    family: ClassVar[str] = "margin schedule"

    @abstractmethod
    def margins(self, positive: float, negative: float, progress: float) -> tuple[float, float]:
        """Return the margins in force, positive first, from those that the loss has set.

        Args:
            positive: The loss's own margin for the true class.
            negative: The loss's own margin for the other classes.
            progress: Share of the training that is done, in [0, 1].
        """


class ConstantMargins(MarginSchedule):
    """The margins stay as the loss has set them."""

    kind: Literal["constant"] = "constant"

    def margins(self, positive: float, negative: float, progress: float) -> tuple[float, float]:
        """Return the loss's own margins."""
        return positive, negative


MARGIN_SCHEDULES = (ConstantMargins,)
