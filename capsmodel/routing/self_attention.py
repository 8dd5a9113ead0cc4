"""Routing by self-attention: its settings and its layer."""

from typing import Annotated, ClassVar, Literal

import torch
from torch import nn

from capsmodel.functional import Routed, self_attention_routing
from capsmodel.functional.votes import Votes
from capsmodel.routing.base import Fan, Router, Routing, RoutingFacts
from capsmodel.search_range import Choices
from capsmodel.settings.parts import OneOf
from capsmodel.squash import SQUASHES, ExponentialSquash, Squash


class SelfAttentionRouting(Routing):
    """Votes that agree with all votes for a parent go there, in one pass.

    The logit of a vote is the sum of its products with the votes of all children for that parent,
    over the root of the pose's size; the shares of a child are the softmax over the parents. Cost
    and memory grow with the number of votes, not with pairs of children. Gradients flow through
    sums and shares. It is for fully connected layers, as published.

    Source: Mazzia, Salvetti and Chiaberge 2021, arXiv:2101.12491, and their released code.
    Difference: none.

    Attributes:
        bias: Whether a learned number of each pair of a child and a parent, at first zero, is added
            to the share after the softmax. Shares need not add up to 1 then, nor be positive.
        squash: Turns lengths into beliefs.
    """

    facts: ClassVar[RoutingFacts | None] = RoutingFacts(
        competition="the parents of a child",
        learned="1 number a pair of a child and a parent",
        passes="1",
        cost="3",
        memory="1 share",
        gradient="through the shares and the sum",
        failures="twice the children are sharper shares; only for fully connected layers",
        published="MNIST 99.74 % right, the best epoch by test images (Mazzia, Salvetti and "
        "Chiaberge 2021)",
        ours="digits 1.33 (0.12) %, MNIST 2.43 (0.10) %",
    )
    needs_naming: ClassVar[bool] = True
    takes_grids: ClassVar[bool] = False
    kind: Literal["self_attention"] = "self_attention"
    bias: Annotated[bool, Choices(False, True)] = True
    squash: Annotated[Squash, OneOf(SQUASHES)] = ExponentialSquash()

    @property
    def shares_out_once(self) -> bool:
        """Whether nothing is added to the shares."""
        return not self.bias

    def build(self, fan: Fan) -> "SelfAttentionRouter":
        """Return the routing for a layer.

        Raises:
            ValueError: If the layer has several places.
        """
        self.check_places(fan)
        return SelfAttentionRouter(self, fan)


class SelfAttentionRouter(Router):
    """Routing by self-attention in a layer.

    Attributes:
        bias: Added to the shares, [edges, out_caps], or None.
    """

    def __init__(self, routing: SelfAttentionRouting, fan: Fan) -> None:
        super().__init__()
        self.routing = routing
        self.bias = nn.Parameter(torch.empty(fan.edges, fan.out_caps)) if routing.bias else None

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set the bias to zero."""
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the routed poses and their lengths; the generator is not used."""
        squash = self.routing.squash.function
        return self_attention_routing(votes.values, bias=self.bias, squash=squash)
