"""Uniform routing: the control without any routing."""

from typing import Annotated, Literal

import torch

from capsmodel.functional import Routed, uniform_routing
from capsmodel.functional.controls import equal_routing
from capsmodel.functional.sharing import Shares
from capsmodel.functional.votes import LinearVotes, Votes
from capsmodel.routing.base import Fan, Router, Routing
from capsmodel.routing.biased import BiasedRouter
from capsmodel.search_range import Choices


class UniformRouting(Routing):
    """Every input is shared equally among the outputs, whatever it votes.

    The same arithmetic as one iteration of dynamic routing, so the two agree to the last bit. In a
    convolutional layer an input is shared among all outputs at all places that see it.

    Attributes:
        bias: Whether a learned vector is added to each sum of votes, as in dynamic routing.
    """

    kind: Literal["uniform"] = "uniform"
    bias: Annotated[bool, Choices(False, True)] = False

    def build(self, fan: Fan) -> Router:
        """Return the routing for a layer."""
        return UniformRouter(fan, has_bias=self.bias)


class UniformRouter(BiasedRouter):
    """Uniform routing in its place."""

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the squashed equal share of all votes; the generator is not used."""
        if isinstance(votes, LinearVotes):
            return equal_routing(votes, Shares(votes.neighbourhood), bias=self.bias)
        return uniform_routing(votes.values, bias=self.bias, neighbourhood=votes.neighbourhood)
