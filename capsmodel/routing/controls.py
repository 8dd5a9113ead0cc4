"""Routings that ignore the votes; any claim about routing has to beat them."""

from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field, model_validator

from capsmodel.functional import Routed, random_routing, uniform_routing
from capsmodel.functional.controls import equal_routing, random_linear_routing
from capsmodel.functional.sharing import Shares
from capsmodel.functional.votes import LinearVotes, Votes
from capsmodel.routing.base import BiasedRouter, Fan, Router, Routing, RoutingFacts
from capsmodel.search_range import Choices


class UniformRouting(Routing):
    """Every input is shared equally among the outputs, whatever it votes.

    The same arithmetic as one iteration of dynamic routing, so the two agree to the last bit. In a
    convolutional layer an input is shared among all outputs at all places that see it.

    Attributes:
        bias: Whether a learned vector is added to each sum of votes, as in dynamic routing.
    """

    facts: ClassVar[RoutingFacts | None] = RoutingFacts(
        competition="nothing",
        learned="nothing; optionally a bias",
        passes="1",
        cost="1",
        memory="none",
        gradient="through the sum",
        failures="a control: what a routing adds is its difference to this",
        published="often as good as routing (Paik, Kwak and Kim 2019)",
        ours="digits 1.11 (0.39) %, MNIST 2.32 (0.08) %",
    )
    kind: Literal["uniform"] = "uniform"
    bias: Annotated[bool, Choices(False, True)] = False

    def build(self, fan: Fan) -> Router:
        """Return the routing for a layer."""
        return UniformRouter(fan, has_bias=self.bias)


class UniformRouter(BiasedRouter):
    """Uniform routing in a layer."""

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the squashed equal share of all votes; the generator is not used."""
        if isinstance(votes, LinearVotes):
            return equal_routing(votes, Shares(votes.neighbourhood), bias=self.bias)
        return uniform_routing(votes.values, bias=self.bias, neighbourhood=votes.neighbourhood)


class RandomRouting(Routing):
    """Couplings are drawn, proportional to U(low, high), and add up to 1 over the outputs.

    One draw serves all images of a batch. In training every call draws anew; in evaluation every
    call gets the same generator state, so the draw is fixed. In a convolutional layer the couplings
    of an input add up to 1 over all outputs at all places that see it.

    Source: Paik, Kwak and Kim 2019, arXiv:1907.13327, the random control.
    Difference: the images of a batch share the draw, so that a prediction does not depend on
    the place in its batch.

    Attributes:
        low: Smallest draw before the normalisation.
        high: Largest draw before the normalisation, above `low`.
        bias: Whether a learned vector is added to each sum of votes, as in dynamic routing.
    """

    facts: ClassVar[RoutingFacts | None] = RoutingFacts(
        competition="nothing: shares are drawn",
        learned="nothing; optionally a bias",
        passes="1",
        cost="1",
        memory="1 share",
        gradient="through the sum",
        failures="a control",
        published="often as good as routing (Paik, Kwak and Kim 2019)",
    )
    kind: Literal["random"] = "random"
    is_symmetric: ClassVar[bool] = False
    low: Annotated[float, Field(gt=0)] = 0.8
    high: Annotated[float, Field(gt=0)] = 1.2
    bias: Annotated[bool, Choices(False, True)] = False

    @model_validator(mode="after")
    def _check_order(self) -> "RandomRouting":
        if self.low >= self.high:
            raise ValueError(f"low must be below high, got low {self.low} and high {self.high}.")
        return self

    def build(self, fan: Fan) -> Router:
        """Return the routing for a layer."""
        return RandomRouter(self, fan)


class RandomRouter(BiasedRouter):
    """Random routing in a layer."""

    def __init__(self, routing: RandomRouting, fan: Fan) -> None:
        super().__init__(fan, has_bias=routing.bias)
        self.routing = routing

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the squashed sum of the votes in drawn shares; None uses PyTorch's generator."""
        between = (self.routing.low, self.routing.high)
        if isinstance(votes, LinearVotes):
            return random_linear_routing(votes, generator, between=between, bias=self.bias)
        return random_routing(
            votes.values,
            generator,
            between=between,
            bias=self.bias,
            neighbourhood=votes.neighbourhood,
        )
