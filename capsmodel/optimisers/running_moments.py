"""What Adam and AdamW share: steps scaled by running moments of the gradient."""

from abc import ABC
from collections.abc import Sequence
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from torch import nn

from capsmodel.optimisers.base import can_be_fused
from capsmodel.optimisers.eager import eager
from capsmodel.optimisers.scheduled import ScheduledOptimiser

_Adam = eager(torch.optim.Adam)


class RunningMoments(ScheduledOptimiser, ABC):
    """An optimiser whose steps are scaled by running moments of the gradient.

    Attributes:
        decays_past_moments: Whether the weight decay goes past the moments.
        beta1: Decay of the running mean of the gradient.
        beta2: Decay of the running mean of its square.
        epsilon: Added to the root of the latter.
        weight_decay: How strongly weights are drawn to zero; each member says how.
    """

    decays_past_moments: ClassVar[bool]
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.999
    epsilon: Annotated[float, Field(gt=0)] = 1e-8
    weight_decay: Annotated[float, Field(ge=0)] = 0.0

    def build(self, parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
        """Return a fresh optimiser of the parameters, fused into one kernel where it can be."""
        return _Adam(
            parameters,
            lr=self.learning_rate,
            betas=(self.beta1, self.beta2),
            eps=self.epsilon,
            weight_decay=self.weight_decay,
            decoupled_weight_decay=self.decays_past_moments,
            fused=can_be_fused(parameters),
        )

    def state_shapes(self, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """Return the two moments, shaped as the parameter, and the count of steps."""
        return {"exp_avg": shape, "exp_avg_sq": shape, "step": ()}
