"""Routers that may add a bias to the sums of votes."""

import torch
from torch import nn

from capsmodel.routing.base import Fan, Router

_INITIAL = 0.1


class BiasedRouter(Router):
    """A router that adds a learned vector to each sum of votes, or none.

    Source: the released code of Sabour, Frosst and Hinton 2017.
    Difference: none.

    Attributes:
        bias: Of shape [out_caps, pose], or None.
    """

    def __init__(self, fan: Fan, *, has_bias: bool) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(fan.out_caps, fan.pose)) if has_bias else None

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set the bias to 0.1."""
        if self.bias is not None:
            nn.init.constant_(self.bias, _INITIAL)
