"""Learning-rate schedules: how the rate moves while the training goes on."""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

from capsmodel.parts import Part


class LearningRateSchedule(Part, ABC):
    """How the learning rate of an optimiser moves while the training goes on."""

    family: ClassVar[str] = "learning-rate schedule"

    @abstractmethod
    def rate(self, initial: float, progress: float) -> float:
        """Return the rate in force, from the optimiser's own and the share of training done."""


class ConstantRate(LearningRateSchedule):
    """The rate stays as the optimiser has set it."""

    kind: Literal["constant"] = "constant"

    def rate(self, initial: float, progress: float) -> float:
        """Return the optimiser's own rate."""
        return initial


LEARNING_RATE_SCHEDULES = (ConstantRate,)
