"""Stochastic gradient descent, with momentum."""

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator
from torch import nn

from capsmodel.optimisers.base import ScheduledOptimiser, can_be_fused
from capsmodel.search_range import Choices, Floats
from capsmodel.torch_internals import eager

_SGD = eager(torch.optim.SGD)


class SGD(ScheduledOptimiser):
    """Steps along a running sum of the gradients.

    Source: Sutskever, Martens, Dahl and Hinton 2013, "On the importance of initialization and
    momentum in deep learning", equations 1 to 4.
    Difference: the learning rate multiplies the running sum, not each gradient that enters it, so
    that a change of the rate acts at once.

    The default is what networks of convolutions are usually given. The margin loss has smaller
    gradients: of the rates 0.1, 0.3, 1, 2, 3 and 10 the best for the quickstart's network on the
    validation images of the digits was 2 (8 epochs, 2 to 4 seeds): error 1.0 %, 5 % at 0.1, and
    nothing was learnt at 10.

    Attributes:
        learning_rate: Step size before warm-up and schedule.
        warmup_steps: Steps at the start whose rate is smaller, rising evenly from 0.
        schedule: Schedule of the learning rate.
        momentum: Decay of the running sum; at 0 each step goes along its own gradient.
        nesterov: Whether a step looks ahead: along the sum as it will be, were the gradient to
            stay. It needs a momentum above 0.
        weight_decay: Multiple of each weight that is added to its gradient: the gradient
            of half this multiple of all squared weights, which no reported loss includes.
    """

    kind: Literal["sgd"] = "sgd"
    learning_rate: Annotated[float, Field(gt=0), Floats(1e-2, 3.0, log=True)] = 0.1
    momentum: Annotated[float, Field(ge=0, lt=1), Floats(0.5, 0.99)] = 0.9
    nesterov: Annotated[bool, Choices(False, True)] = False
    weight_decay: Annotated[float, Field(ge=0), Floats(1e-6, 1e-2, log=True)] = 0.0

    @model_validator(mode="after")
    def _check_momentum(self) -> "SGD":
        if self.nesterov and self.momentum == 0:
            raise ValueError(
                "nesterov looks ahead along the momentum, got a momentum of 0: set one above 0, "
                "or leave nesterov out."
            )
        return self

    def build(self, parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
        """Return a fresh optimiser of the parameters, fused into one kernel where it can be."""
        return _SGD(
            parameters,
            lr=self.learning_rate,
            momentum=self.momentum,
            nesterov=self.nesterov,
            weight_decay=self.weight_decay,
            fused=can_be_fused(parameters),
        )

    def state_shapes(self, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """Return the running sum, shaped as the parameter; nothing is kept without momentum."""
        return {"momentum_buffer": shape} if self.momentum > 0 else {}
