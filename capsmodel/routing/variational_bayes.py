"""Variational-Bayes routing: its settings and its layer."""

from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field
from torch import nn

from capsmodel.functional import Routed, variational_bayes_routing
from capsmodel.functional.precision import multiplied_in_single
from capsmodel.functional.votes import Votes
from capsmodel.routing.base import Fan, Router, Routing, RoutingFacts
from capsmodel.search_range import Floats, Ints


class VariationalBayesRouting(Routing):
    """Parents are a mixture of Gaussians of which nothing is known for certain.

    Each round updates what is known of weights, means and diagonal precisions, from priors that
    hold parents together which have few children, and shares each child among all its parents by
    their expected log-densities. The logit of an activation is beta_a, less the expected weight
    times the expected entropy, less beta_u: two learned numbers a type of parent, which start at
    zero. Time grows with the rounds times the number of votes; gradients flow through all rounds.

    Source: Ribeiro, Leontidis and Kollias 2020, arXiv:1905.11455, with diagonal precisions, and the
    released code.
    Difference: it is computed with logarithms, and without a division by a parent's mass, where the
    code has a floor of 1e-11 under normalised densities and divides. The code normalises logits and
    means over the batch; here no image affects another one, but where the model normalises its
    capsules, as `MatrixCapsNet.variational_bayes()` does.

    Attributes:
        iterations: Rounds. One round shares every child equally among the types at each place.
        concentration: Of the Dirichlet prior of the weights.
        mean_precision: How many children the prior's mean of zero counts for.
    """

    facts: ClassVar[RoutingFacts | None] = RoutingFacts(
        competition="the parents of a child, by expected log-density",
        learned="2 numbers a type of parent",
        passes="3 rounds",
        cost="5r - 2",
        memory="1 number of the vote's size a round, 1 share",
        gradient="through all rounds",
        failures="the released code is said to give NaN after some 200 epochs; without batch "
        "normalisation activations begin far from one half",
        published="smallNORB 98.7 % right (Ribeiro, Leontidis and Kollias 2020, released code)",
        ours="digits 4.00 (1.57) %, MNIST 4.43 (0.55) %",
    )
    needs_naming: ClassVar[bool] = True
    reads_activations: ClassVar[bool] = True
    kind: Literal["variational_bayes"] = "variational_bayes"
    iterations: Annotated[int, Field(ge=1, le=100), Ints(1, 5)] = 3
    concentration: Annotated[float, Field(gt=0), Floats(0.1, 10.0, log=True)] = 1.0
    mean_precision: Annotated[float, Field(gt=0), Floats(0.1, 10.0, log=True)] = 1.0

    @property
    def shares_out_once(self) -> bool:
        """Whether there is a round in which all parents of a child compete for it."""
        return self.iterations > 1

    def build(self, fan: Fan) -> "VariationalBayesRouter":
        """Return the routing for a layer."""
        return VariationalBayesRouter(self, fan)


class VariationalBayesRouter(Router):
    """Variational-Bayes routing in a layer.

    Attributes:
        activation_bias: Beta_a of each type of parent.
        cost_bias: Beta_u of each type of parent.
    """

    def __init__(self, routing: VariationalBayesRouting, fan: Fan) -> None:
        super().__init__()
        self.routing = routing
        self.activation_bias = nn.Parameter(torch.empty(fan.out_caps))
        self.cost_bias = nn.Parameter(torch.empty(fan.out_caps))

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set both to zero."""
        nn.init.zeros_(self.activation_bias)
        nn.init.zeros_(self.cost_bias)

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the parents' means and activations; the generator is not used."""
        return multiplied_in_single(self._routed, votes)

    def _routed(self, votes: Votes) -> Routed:
        return variational_bayes_routing(
            votes.values,
            votes.activations.t(),
            self.routing.iterations,
            activation_bias=self.activation_bias,
            cost_bias=self.cost_bias,
            concentration=self.routing.concentration,
            mean_precision=self.routing.mean_precision,
            neighbourhood=votes.neighbourhood,
        )
