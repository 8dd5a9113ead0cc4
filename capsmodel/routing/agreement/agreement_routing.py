"""Routing by agreement: what its variants share."""

from abc import ABC
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from capsmodel.functional import Routed, dynamic_routing, leaky_routing
from capsmodel.functional.controls import equal_routing
from capsmodel.functional.sharing import ShareCompetition, Shares
from capsmodel.functional.votes import LinearVotes, Votes
from capsmodel.routing.agreement.initial_logits import INITIAL_LOGITS, InitialLogits, ZeroLogits
from capsmodel.routing.base import Fan, Routing
from capsmodel.routing.biased import BiasedRouter
from capsmodel.routing.inverse_temperature import (
    INVERSE_TEMPERATURES,
    ConstantInverseTemperature,
    InverseTemperature,
)
from capsmodel.search_range import Choices, Ints
from capsmodel.settings.later_field import later
from capsmodel.settings.parts import OneOf
from capsmodel.squash import SQUASHES, SabourSquash, Squash


class AgreementRouting(Routing, ABC):
    """Votes flow to the outputs that already agree with them.

    Every round shares each input among the outputs, adds up the shared votes, and raises the share
    of outputs whose pose points the way the vote does. The shares of an input add up to 1 over all
    outputs, in a convolutional layer at all places that see it. Time grows with the iterations
    times the number of votes.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, procedure 1.
    Difference: the last update of the logits is left out, as nothing reads it. Logits are at all
    times the initial ones plus the products of the votes with the sum of all earlier poses: that
    sum is kept in their place.

    Attributes:
        iterations: Rounds of sharing. One round shares every vote by the initial logits.
        bias: Whether a learned vector is added to each sum of votes, in every round, as the
            authors' released code does; it starts at 0.1.
        gradient: Whether gradients flow through all rounds, as in that code, or only through the
            last, which takes the shares as given, as a widespread reimplementation does.
        squash: What makes beliefs of lengths.
        initial_logits: How inputs are shared at the start.
        inverse_temperature: What the logits of each round are multiplied by.
        competition: Who competes: all "parents" of a child; in a convolutional layer the "types" at
            each place on their own, as widespread reimplementations do; or the "children" for each
            parent, a softmax over the inputs, which is a widespread mistake and a control.
    """

    has_leak: ClassVar[bool] = False

    iterations: Annotated[int, Field(ge=1, le=100), Ints(1, 5)] = 3
    bias: Annotated[bool, Choices(False, True)] = False
    gradient: Annotated[Literal["all", "last"], Choices("all", "last")] = "all"
    squash: Annotated[Squash, OneOf(SQUASHES)] = SabourSquash()
    initial_logits: Annotated[InitialLogits, OneOf(INITIAL_LOGITS)] = ZeroLogits()
    inverse_temperature: Annotated[InverseTemperature, OneOf(INVERSE_TEMPERATURES)] = (
        ConstantInverseTemperature()
    )
    competition: ShareCompetition = later("parents")

    @property
    def shares_out_once(self) -> bool:
        """Whether all parents of a child compete for it."""
        return self.competition == "parents"

    def build(self, fan: Fan) -> "AgreementRouter":
        """Return the routing for a layer."""
        return AgreementRouter(self, fan)


class AgreementRouter(BiasedRouter):
    """Routing by agreement in its place.

    Attributes:
        logits: The learned initial logits, of shape [edges, out_caps], or None.
    """

    def __init__(self, routing: AgreementRouting, fan: Fan) -> None:
        super().__init__(fan, has_bias=routing.bias)
        self.routing = routing
        is_learned = routing.initial_logits.are_learned
        self._shape = (fan.edges, fan.out_caps)
        self.logits = nn.Parameter(torch.empty(self._shape)) if is_learned else None

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set the bias to 0.1 and the logits to zero."""
        super().initialise(generator)
        if self.logits is not None:
            nn.init.zeros_(self.logits)

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the poses on which the votes agree, their lengths, and the last shares."""
        routing = self.routing
        logits = self._initial_logits(generator)
        if isinstance(votes, LinearVotes) and routing.iterations == 1 and logits is None:
            shares = Shares(votes.neighbourhood, routing.has_leak, routing.competition)
            return equal_routing(votes, shares, bias=self.bias, squash=routing.squash.squash)
        route = leaky_routing if routing.has_leak else dynamic_routing
        return route(
            votes.values,
            routing.iterations,
            bias=self.bias,
            logits=logits,
            squash=routing.squash.function,
            inverse_temperature=routing.inverse_temperature.at,
            gradient=routing.gradient,
            competition=routing.competition,
            neighbourhood=votes.neighbourhood,
        )

    def _initial_logits(
        self, generator: torch.Generator | None
    ) -> Float[Tensor, "edges out_caps"] | None:
        drawn = self.routing.initial_logits.draw(*self._shape, generator)
        return self.logits if drawn is None else drawn
