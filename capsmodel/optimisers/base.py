"""The interface of every optimiser, and the base of those with a scheduled learning rate."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from torch import nn

from capsmodel.optimisers.rate_schedule import (
    LEARNING_RATE_SCHEDULES,
    ConstantRate,
    LearningRateSchedule,
    Moment,
)
from capsmodel.search_range import Floats
from capsmodel.settings.parts import OneOf, Part


class Optimiser(Part, ABC):
    """How gradients move the weights.

    Its whole memory is tensors stored for each parameter, so that a checkpoint can hold it and
    can be checked against `state_shapes` before anything is loaded.
    """

    family: ClassVar[str] = "optimiser"

    @abstractmethod
    def build(self, parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
        """Return a new optimiser of the parameters."""

    @abstractmethod
    def learning_rate_at(self, moment: Moment) -> float:
        """Return the learning rate of the next step."""

    @abstractmethod
    def state_shapes(self, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the float32 state tensors of a parameter of a given shape."""


def can_be_fused(parameters: Sequence[nn.Parameter]) -> bool:
    """Return whether one kernel can move all parameters: whether their device has one."""
    return all(parameter.device.type in {"cpu", "cuda"} for parameter in parameters)


class ScheduledOptimiser(Optimiser, ABC):
    """An optimiser whose rate warms up, then moves as its schedule says.

    Attributes:
        learning_rate: Step size before warm-up and schedule.
        warmup_steps: Steps at the start whose rate is smaller: it rises evenly from 0, and the
            step after these is the first at the whole rate. The schedule runs meanwhile, and its
            rate is what is made smaller.
        schedule: Schedule of the learning rate.
    """

    learning_rate: Annotated[float, Field(gt=0), Floats(1e-4, 1e-2, log=True)] = 1e-3
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    schedule: Annotated[LearningRateSchedule, OneOf(LEARNING_RATE_SCHEDULES)] = ConstantRate()

    def learning_rate_at(self, moment: Moment) -> float:
        """Return the schedule's rate, or the share of it that the warm-up has reached."""
        share = min(1.0, (moment.step + 1) / (self.warmup_steps + 1))
        return share * self.schedule.at(self.learning_rate, moment)
