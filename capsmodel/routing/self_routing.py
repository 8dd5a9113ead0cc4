"""Self-routing: its settings and its layer."""

from typing import ClassVar, Literal

import torch
from torch import nn

from capsmodel.functional import Routed, self_routing
from capsmodel.functional.precision import multiplied_in_single
from capsmodel.functional.votes import NO_SCORES, Votes
from capsmodel.routing.base import Fan, Router, Routing, RoutingFacts


class SelfRouting(Routing):
    """Every child decides by its own pose where it goes, by a matrix of its own.

    Shares are the softmax over the parents at one place; a parent's activation is the mean of the
    shares that it gets, weighted by the children's activations, so that they add up to 1. Votes
    have no part in it. One pass; gradients flow through votes, activations and shares. The matrices
    start at zero: shares are equal at first.

    Source: Hahn, Pyeon and Kim 2019, "Self-routing capsule networks", and their released code.
    Difference: where no child in a window is active, activations and poses are zero; the code
    divides zero by zero there. Normalising poses over the batch is the network's, not the
    routing's. Class capsules that see all places share the matrices of the votes among the places,
    not those of the shares.
    """

    facts: ClassVar[RoutingFacts | None] = RoutingFacts(
        competition="the parents of a child at one place",
        learned="a matrix of each child's pose to its shares, and their biases",
        passes="1",
        cost="1, and a share's",
        memory="1 share",
        gradient="through shares, activations and the mean",
        failures="votes do not matter to the shares: nothing has to agree",
        published="CIFAR-10 92.14 % right, smallNORB 92.38 % (Hahn, Pyeon and Kim 2019)",
        ours="digits 3.67 (0.50) %, MNIST 9.91 (0.31) %",
    )
    needs_naming: ClassVar[bool] = True
    is_symmetric: ClassVar[bool] = False
    reads_activations: ClassVar[bool] = True
    reads_votes: ClassVar[bool] = False
    kind: Literal["self_routing"] = "self_routing"

    @property
    def shares_out_once(self) -> bool:
        """Whether all parents of a child compete for it: those at one place do."""
        return False

    def build(self, fan: Fan) -> "SelfRouter":
        """Return the routing for a layer."""
        return SelfRouter(fan)


class SelfRouter(Router):
    """Self-routing in a layer.

    Attributes:
        weight: From each child's pose to its logits, [edges, child_pose, out_caps].
        bias: Added to the logits, [edges, out_caps].
    """

    def __init__(self, fan: Fan) -> None:
        super().__init__()
        child_pose = fan.pose if fan.child_pose is None else fan.child_pose
        self.has_one_place = fan.neighbourhood.num_places == 1
        self.weight = nn.Parameter(torch.empty(fan.edges, child_pose, fan.out_caps))
        self.bias = nn.Parameter(torch.empty(fan.edges, fan.out_caps))

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set all to zero: shares are equal."""
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the routed capsules, and at one place logits; the generator is not used.

        Raises:
            ValueError: If the votes were given without the children's poses.
        """
        return multiplied_in_single(self._routed, votes)

    def _routed(self, votes: Votes) -> Routed:
        weight, bias = (values.to(votes.children) for values in (self.weight, self.bias))
        logits = torch.baddbmm(bias.unsqueeze(1), votes.children, weight)
        routed = self_routing(
            votes.values,
            votes.activations.t(),
            logits.transpose(0, 1),
            neighbourhood=votes.neighbourhood,
        )
        return routed if self.has_one_place else routed._replace(scores=NO_SCORES)
