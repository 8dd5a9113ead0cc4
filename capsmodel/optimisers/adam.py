"""Adam and AdamW: steps scaled by running moments of the gradient."""

from abc import ABC
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field
from torch import nn

from capsmodel.optimisers.base import ScheduledOptimiser, can_be_fused
from capsmodel.search_range import Floats
from capsmodel.torch_internals import eager

_Adam = eager(torch.optim.Adam)


class RunningMoments(ScheduledOptimiser, ABC):
    """An optimiser whose steps are scaled by running moments of the gradient.

    Attributes:
        decays_past_moments: Whether the weight decay goes past the moments.
        beta1: Decay of the running mean of the gradient.
        beta2: Decay of the running mean of its square.
        epsilon: Added to the root of the latter.
        weight_decay: How strongly weights are pulled to zero; each member says how.
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


class Adam(RunningMoments):
    """Steps scaled by running moments of the gradient.

    Source: Kingma and Ba 2014, arXiv:1412.6980, algorithm 1.
    Difference: none. They have no weight decay; ours is that of the released code of Hinton, Sabour
    and Frosst 2018, which sets 2e-7: the gradient of half its multiple of all squared weights
    enters both moments. Theirs covers kernels and matrices alone, ours all parameters. No reported
    loss includes that sum.

    Attributes:
        learning_rate: Step size before warm-up and schedule.
        warmup_steps: Steps at the start whose rate is smaller, rising evenly from 0.
        schedule: Schedule of the learning rate.
        beta1: Decay of the running mean of the gradient.
        beta2: Decay of the running mean of its square.
        epsilon: Added to the root of the latter.
        weight_decay: Multiple of each weight that is added to its gradient.
    """

    kind: Literal["adam"] = "adam"
    decays_past_moments: ClassVar[bool] = False
    weight_decay: Annotated[float, Field(ge=0), Floats(1e-8, 1e-3, log=True)] = 0.0


class AdamW(RunningMoments):
    """Adam's steps, each after every weight has lost a share of itself.

    Source: Loshchilov and Hutter 2017, arXiv:1711.05101, algorithm 2.
    Difference: the share is the weight decay times the whole learning rate of the step, in the
    paper times the schedule's multiplier alone: a weight decay here is theirs divided by the
    learning rate.

    Attributes:
        learning_rate: Step size before warm-up and schedule.
        warmup_steps: Steps at the start whose rate is smaller, rising evenly from 0.
        schedule: Schedule of the learning rate.
        beta1: Decay of the running mean of the gradient.
        beta2: Decay of the running mean of its square.
        epsilon: Added to the root of the latter.
        weight_decay: Share of itself that a weight loses at each step, before the rate.
    """

    kind: Literal["adamw"] = "adamw"
    decays_past_moments: ClassVar[bool] = True
    weight_decay: Annotated[float, Field(ge=0), Floats(1e-4, 1.0, log=True)] = 0.01
