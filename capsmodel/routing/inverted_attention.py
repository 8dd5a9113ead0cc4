"""Inverted dot-product attention: its settings and its layer."""

from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from capsmodel.functional import Routed, inverted_attention_routing
from capsmodel.functional.precision import multiplied_in_single
from capsmodel.functional.votes import Votes
from capsmodel.routing.base import Fan, Router, Routing, RoutingFacts
from capsmodel.search_range import Ints


class InvertedAttentionRouting(Routing):
    """Parents at one place compete for a child by their products with its votes.

    The first round shares equally; in each later one the logit of a vote is its product with the
    parent's pose of the round before. Poses are layer-normalised sums of the shared votes, with a
    scale and a shift that all capsules of a layer share. Capsules have no activation; the classes'
    logits are one linear map of their poses, the same for all classes, and a softmax turns them
    into beliefs. Time grows with the rounds times the number of votes; gradients flow through all
    rounds.

    Source: Tsai, Srivastava, Goh and Salakhutdinov 2020, arXiv:2002.04764, with sequential routing,
    and their released code.
    Difference: none. In concurrent routing, a setting of the model `inverted_attention_net`, all
    layers are updated together; in networks with one routed layer the two are equal. Every layer of
    one place has a map to logits, unless the network says that it is not the classes'.

    Attributes:
        iterations: Rounds in all. One round shares every vote equally.
    """

    facts: ClassVar[RoutingFacts | None] = RoutingFacts(
        competition="the parents of a child at one place",
        learned="scale and shift of a pose, a map from pose to logit, for the whole layer",
        passes="2 rounds",
        cost="2r - 1",
        memory="1 share a round",
        gradient="through all rounds",
        failures="lengths say nothing: a loss sees the logits alone",
        published="CIFAR-10 94.85 % right, the mean of several trainings (Tsai, Srivastava, Goh "
        "and Salakhutdinov 2020, released code)",
        ours="digits 2.72 (0.36) %, MNIST 2.70 (0.09) %",
    )
    needs_naming: ClassVar[bool] = True
    kind: Literal["inverted_attention"] = "inverted_attention"
    iterations: Annotated[int, Field(ge=1, le=100), Ints(1, 5)] = 2

    @property
    def shares_out_once(self) -> bool:
        """Whether all parents of a child compete for it: those at one place do."""
        return False

    def build(self, fan: Fan) -> "InvertedAttentionRouter":
        """Return the routing for a layer."""
        return InvertedAttentionRouter(self, fan)


class InvertedAttentionRouter(Router):
    """Inverted dot-product attention in a layer.

    Attributes:
        scale: Multiplier of each number of a normalised pose.
        shift: Added to each of them.
        head: Multiplier of each number of a pose in its capsule's logit, in a layer of one place;
            None elsewhere, where capsules have no logits.
        head_bias: Added to the logits, a tensor of one number; or None.
    """

    def __init__(self, routing: InvertedAttentionRouting, fan: Fan) -> None:
        super().__init__()
        self.routing = routing
        self.scale = nn.Parameter(torch.empty(fan.pose))
        self.shift = nn.Parameter(torch.empty(fan.pose))
        has_logits = fan.neighbourhood.num_places == 1
        self.head = nn.Parameter(torch.empty(fan.pose)) if has_logits else None
        self.head_bias = nn.Parameter(torch.empty(1)) if has_logits else None

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set the scale to one and the shift to zero, and draw the map as `nn.Linear` does."""
        nn.init.ones_(self.scale)
        nn.init.zeros_(self.shift)
        bound = self.scale.shape[0] ** -0.5
        for values in (self.head, self.head_bias):
            if values is not None:
                nn.init.uniform_(values, -bound, bound, generator=generator)

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the routed poses, and at one place logits; the generator is not used."""
        return self.after(None, votes, self.routing.iterations)

    def after(
        self, previous: Float[Tensor, "sites out_caps pose"] | None, votes: Votes, iterations: int
    ) -> Routed:
        """Route as `forward` does, with some more rounds after earlier poses.

        Args:
            previous: The poses of the round before; None where there was none.
            votes: Predictions of the children.
            iterations: How many rounds are made.
        """

        def route(votes: Votes) -> Routed:
            routed = inverted_attention_routing(
                votes.values,
                iterations,
                scale=self.scale,
                shift=self.shift,
                neighbourhood=votes.neighbourhood,
                previous=previous,
            )
            return self._with_logits(routed)

        return multiplied_in_single(route, votes)

    def drop_logits(self) -> None:
        """Go without the map to logits, in a layer of one place that is not the classes'."""
        self.head = self.head_bias = None

    def _with_logits(self, routed: Routed) -> Routed:
        if self.head is None or self.head_bias is None:
            return routed
        logits = routed.poses @ self.head.to(routed.poses) + self.head_bias
        return routed._replace(activations=logits.softmax(dim=1), scores=logits)
