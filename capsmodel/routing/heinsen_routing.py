"""The routing of Heinsen 2019: its settings and its layer."""

from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field
from torch import nn

from capsmodel.functional import Routed, heinsen_routing
from capsmodel.functional.precision import multiplied_in_single
from capsmodel.functional.votes import Votes
from capsmodel.routing.base import Fan, Router, Routing, RoutingFacts
from capsmodel.search_range import Floats, Ints


class HeinsenRouting(Routing):
    """Parents are Gaussians that are worth what they use of the children, and pay for the rest.

    A parent's score is the sum over the children of what it uses of each times what using is worth,
    less what it ignores times what ignoring costs; both are learned for each pair, or for each
    parent where all children share their matrices, and start at zero. The sigmoid of the score is
    the activation; the classes' scores are logits of a softmax, for a loss of logits such as
    cross-entropy. Time grows with the rounds times the number of votes; gradients flow through all
    rounds. It is for layers of one place, as published.

    Source: Heinsen 2019, arXiv:1911.00792, and the released code.
    Difference: children's activations are given where the code takes scores, of which they are the
    sigmoid. A learned bias of the votes is the layer's, `ConvCapsules(bias=True)`.

    Attributes:
        iterations: Rounds. One round shares every child equally.
        epsilon: Added to each parent's mass and to each variance.
    """

    facts: ClassVar[RoutingFacts | None] = RoutingFacts(
        competition="the parents of a child, by density times activation",
        learned="2 numbers a pair of a child and a parent; a parent where children share matrices",
        passes="3 rounds",
        cost="5r - 4",
        memory="1 number of the vote's size a round but the last, 1 share",
        gradient="through all rounds",
        failures="a loss of lengths does not suit scores, and a training with one is refused; only "
        "for layers of one place",
        published="smallNORB 99.1 % right, the best of 10 trainings by crops of the test images "
        "(Heinsen 2019)",
        ours="digits 2.56 (0.69) %, MNIST 3.18 (0.07) %",
    )
    needs_naming: ClassVar[bool] = True
    takes_grids: ClassVar[bool] = False
    judged_by_scores: ClassVar[bool] = True
    reads_activations: ClassVar[bool] = True
    kind: Literal["heinsen"] = "heinsen"
    iterations: Annotated[int, Field(ge=1, le=100), Ints(1, 5)] = 3
    epsilon: Annotated[float, Field(gt=0), Floats(1e-6, 1e-2, log=True)] = 1e-5

    def build(self, fan: Fan) -> "HeinsenRouter":
        """Return the routing for a layer.

        Raises:
            ValueError: If the layer has several places.
        """
        self.check_places(fan)
        return HeinsenRouter(self, fan)


class HeinsenRouter(Router):
    """The routing of Heinsen 2019 in a layer.

    Attributes:
        use: What using a child is worth to a parent, [edges, out_caps]; [1, out_caps] where all
            children share their matrices.
        ignore: What ignoring it costs, likewise.
    """

    def __init__(self, routing: HeinsenRouting, fan: Fan) -> None:
        super().__init__()
        self.routing = routing
        rows = 1 if fan.shared else fan.edges
        self.use = nn.Parameter(torch.empty(rows, fan.out_caps))
        self.ignore = nn.Parameter(torch.empty(rows, fan.out_caps))

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set both to zero."""
        nn.init.zeros_(self.use)
        nn.init.zeros_(self.ignore)

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the routed capsules with their scores as logits; the generator is not used."""
        return multiplied_in_single(self._routed, votes)

    def _routed(self, votes: Votes) -> Routed:
        edges = len(votes.activations)
        return heinsen_routing(
            votes.values,
            votes.activations.t(),
            self.routing.iterations,
            use=self.use.expand(edges, -1),
            ignore=self.ignore.expand(edges, -1),
            epsilon=self.routing.epsilon,
        )
