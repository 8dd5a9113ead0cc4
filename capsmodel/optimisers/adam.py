"""The Adam optimiser."""

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import nn

from capsmodel.optimisers.base import Optimiser
from capsmodel.optimisers.moment import Moment
from capsmodel.optimisers.rate_schedule import (
    LEARNING_RATE_SCHEDULES,
    ConstantRate,
    LearningRateSchedule,
)
from capsmodel.parts import OneOf
from capsmodel.search_range import Floats


class Adam(Optimiser):
    """Steps scaled by running moments of the gradient.

    Source: Kingma and Ba 2014, arXiv:1412.6980, algorithm 1.
    Difference: none.

    Attributes:
        learning_rate: Step size before the schedule.
        beta1: Decay of the running mean of the gradient.
        beta2: Decay of the running mean of its square.
        epsilon: Added to the root of the latter.
        schedule: How the learning rate moves.
    """

    kind: Literal["adam"] = "adam"
    learning_rate: Annotated[float, Field(gt=0), Floats(1e-4, 1e-2, log=True)] = 1e-3
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.999
    epsilon: Annotated[float, Field(gt=0)] = 1e-8
    schedule: Annotated[LearningRateSchedule, OneOf(LEARNING_RATE_SCHEDULES)] = ConstantRate()

    def build(self, parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
        """Return a fresh optimiser of the parameters, fused into one kernel where it can be."""
        return torch.optim.Adam(
            parameters,
            lr=self.learning_rate,
            betas=(self.beta1, self.beta2),
            eps=self.epsilon,
            fused=all(parameter.device.type in {"cpu", "cuda"} for parameter in parameters),
        )

    def learning_rate_at(self, moment: Moment) -> float:
        """Return the schedule's rate."""
        return self.schedule.rate(self.learning_rate, moment)

    def state_shapes(self, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """Return the two moments, shaped as the parameter, and the count of steps."""
        return {"exp_avg": shape, "exp_avg_sq": shape, "step": ()}
