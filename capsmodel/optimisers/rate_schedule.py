"""Learning-rate schedules: how the rate moves during a training."""

import math
from abc import ABC
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from capsmodel.schedules import ConstantSchedule, Schedule
from capsmodel.search_range import Choices, Floats, Ints
from capsmodel.settings.parts import Part


@dataclass(frozen=True)
class Moment:
    """A moment of a training, between two of its steps.

    Attributes:
        step: Steps done, counted over all epochs.
        steps_per_epoch: Steps of each epoch, at least 1.
        num_epochs: Epochs of the whole training, at least 1.
    """

    step: int
    steps_per_epoch: int
    num_epochs: int

    @property
    def epoch(self) -> int:
        """Whole epochs done."""
        return self.step // self.steps_per_epoch

    @property
    def progress(self) -> float:
        """Share of the training that is done, in [0, 1]."""
        within = self.step % self.steps_per_epoch
        return (self.epoch + within / self.steps_per_epoch) / self.num_epochs


class LearningRateSchedule(Part, Schedule[float, Moment], ABC):
    """How the learning rate of an optimiser moves during a training.

    The rate at a moment is that of the step that comes next.
    """

    family: ClassVar[str] = "learning-rate schedule"


class ConstantRate(ConstantSchedule[float, Moment], LearningRateSchedule):
    """The rate stays as the optimiser has set it."""

    kind: Literal["constant"] = "constant"


class ExponentialRate(LearningRateSchedule):
    """The rate falls by a factor every so many steps, down to a floor.

    It counts steps, not epochs: with smaller batches the rate falls
    sooner.

    Source: the released code of Sabour, Frosst and Hinton 2017; the paper does not give the
        numbers.
    Difference: none. That of Hinton, Sabour and Frosst 2018 has `every_steps=20_000`.

    Attributes:
        factor: Multiplier of the rate.
        every_steps: Steps in which it falls by the whole factor.
        floor: Where it stays; a rate that starts lower stays as it is.
        staircase: Whether it falls at once at the end of the steps, not a little in each.
    """

    kind: Literal["exponential"] = "exponential"
    factor: Annotated[float, Field(gt=0, le=1), Floats(0.8, 0.99)] = 0.96
    every_steps: Annotated[int, Field(ge=1), Ints(500, 8000, log=True)] = 2000
    floor: Annotated[float, Field(ge=0), Floats(1e-7, 1e-4, log=True)] = 1e-6
    staircase: Annotated[bool, Choices(False, True)] = False

    def at(self, setting: float, when: Moment) -> float:
        """Return the rate after a number of falls, also a fraction of one."""
        falls = when.step / self.every_steps
        fallen = setting * self.factor ** (math.floor(falls) if self.staircase else falls)
        return max(fallen, min(setting, self.floor))


class PerEpochRate(LearningRateSchedule):
    """The rate falls by a factor after each epoch.

    Source: none; widespread in reimplementations of Sabour, Frosst and Hinton 2017, with 0.9 over
    50 epochs, in which the rate falls to 0.6 % of its start.

    Attributes:
        factor: Multiplier of the rate.
    """

    kind: Literal["per_epoch"] = "per_epoch"
    factor: Annotated[float, Field(gt=0, le=1), Floats(0.8, 0.99)] = 0.9

    def at(self, setting: float, when: Moment) -> float:
        """Return the rate of the epoch."""
        return setting * self.factor**when.epoch


class CosineRate(LearningRateSchedule):
    """The rate falls along half a cosine, to reach its floor as the training ends.

    Source: Loshchilov and Hutter 2016, arXiv:1608.03983, equation 5.
    Difference: there are no restarts.

    Attributes:
        floor: The rate at the end; a rate that starts lower stays as it is.
    """

    kind: Literal["cosine"] = "cosine"
    floor: Annotated[float, Field(ge=0), Floats(1e-7, 1e-4, log=True)] = 0.0

    def at(self, setting: float, when: Moment) -> float:
        """Return the rate on the cosine."""
        floor = min(setting, self.floor)
        return floor + (setting - floor) * (1 + math.cos(math.pi * when.progress)) / 2


LEARNING_RATE_SCHEDULES = (ConstantRate, ExponentialRate, PerEpochRate, CosineRate)
