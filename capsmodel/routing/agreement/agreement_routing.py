"""Routing by agreement: what its variants share."""

from abc import ABC
from collections.abc import Callable
from typing import Annotated, ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from capsmodel.functional import lengths
from capsmodel.routing.agreement.initial_logits import INITIAL_LOGITS, InitialLogits, ZeroLogits
from capsmodel.routing.base import Couplings, Fan, Routed, Routing, output_first, share_out
from capsmodel.routing.biased import BiasedRouter
from capsmodel.routing.inverse_temperature import (
    INVERSE_TEMPERATURES,
    ConstantInverseTemperature,
    InverseTemperature,
)
from capsmodel.routing.sharing import Shares, Sharing, agreement_with
from capsmodel.routing.votes import Votes
from capsmodel.search_range import Choices, Ints
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
        shape = (fan.edges, fan.out_caps)
        self.logits = nn.Parameter(torch.empty(shape)) if is_learned else None

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set the bias to 0.1 and the logits to zero."""
        super().initialise(generator)
        if self.logits is not None:
            nn.init.zeros_(self.logits)

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the poses on which the votes agree, their lengths, and the last shares.

        Raises:
            ValueError: If the initial logits are drawn and there is no generator.
        """
        grouped = output_first(votes.values)
        rounds = _Rounds(
            self.routing, Shares(votes.neighbourhood, self.routing.has_leak), self.biased
        )
        logits = self._initial_logits(grouped, generator)
        if self.routing.gradient == "all" or self.routing.iterations == 1:
            poses, couplings = rounds.all(grouped, logits)
        else:
            poses, couplings = rounds.last(grouped, logits)
        told = couplings.detach().expand(grouped.shape[:3]).permute(2, 0, 1)
        return Routed(poses, lengths(poses), Couplings(told, votes.neighbourhood))

    def _initial_logits(
        self, grouped: Tensor, generator: torch.Generator | None
    ) -> Float[Tensor, "1 out_caps edges"] | None:
        out_caps, edges = grouped.shape[1:3]
        drawn = self.routing.initial_logits.draw(edges, out_caps, generator)
        logits = self.logits if drawn is None else drawn.to(grouped)
        return None if logits is None else logits.t().unsqueeze(0)


class _Rounds(NamedTuple):
    """The rounds of routing by agreement, on votes for each output."""

    routing: AgreementRouting
    shares: Shares
    biased: Callable[[Tensor], Tensor]

    def all(
        self, votes: Float[Tensor, "sites out_caps edges pose"], logits: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return poses and shares of the last round, with gradients through every one."""
        return self._first(votes, logits, self.routing.iterations)[:2]

    def last(
        self, votes: Float[Tensor, "sites out_caps edges pose"], logits: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return poses and shares of the last round, with gradients through its sum alone.

        Learned logits have theirs through the last shares, where else could they come from.
        """
        iterations = self.routing.iterations
        with torch.no_grad():
            agreed = self._first(votes, logits, iterations - 1)[2]
            agreement = agreement_with(votes, self._tempered(agreed, iterations - 1))
        if logits is not None:
            agreement = agreement + self._tempered(logits, iterations - 1)
        couplings = self.shares.of(agreement)
        return self._poses(share_out(votes, couplings)), couplings

    def _first(
        self, votes: Tensor, logits: Tensor | None, iterations: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return poses and shares after some rounds, and the sum of the poses of all of them."""
        if logits is None:
            sums, couplings = self.shares.share_equally(votes), self.shares.equal(votes)
        else:
            nothing = votes.new_zeros(votes.shape[0], votes.shape[1], votes.shape[3])
            first = self._tempered(logits, 0)
            sums, couplings = Sharing.share(votes, nothing, first, self.shares)
        poses = self._poses(sums)
        agreed = poses
        for iteration in range(1, iterations):
            own = None if logits is None else self._tempered(logits, iteration)
            sharp = self._tempered(agreed, iteration)
            sums, couplings = Sharing.share(votes, sharp, own, self.shares)
            poses = self._poses(sums)
            agreed = agreed + poses
        return poses, couplings, agreed

    def _poses(self, sums: Tensor) -> Tensor:
        return self.routing.squash.squash(self.biased(sums))

    def _tempered(self, logits: Tensor, iteration: int) -> Tensor:
        inverse_temperature = self.routing.inverse_temperature.at(iteration)
        return logits if inverse_temperature == 1 else inverse_temperature * logits
