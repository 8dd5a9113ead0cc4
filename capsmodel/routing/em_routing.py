"""EM routing: each parent is a Gaussian of the votes that it explains best."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from capsmodel.functional import Routed
from capsmodel.functional.em import Competition, EMRounds, route_by_em
from capsmodel.functional.votes import Votes
from capsmodel.routing.base import Fan, Router, Routing, RoutingFacts
from capsmodel.routing.inverse_temperature import (
    INVERSE_TEMPERATURES,
    InverseTemperature,
    RisingInverseTemperature,
)
from capsmodel.search_range import Choices, Floats, Ints
from capsmodel.settings.parts import OneOf

_SEEN_BY_PARENT = 100  # what the number of children of a parent is scaled to
_NATS = 2.8378770664093453  # log(2 pi) + 1, twice the entropy of a unit normal distribution

Positive = Annotated[float, Field(gt=0)]

_PAPER: Mapping[str, Any] = {
    "class_temperature_factor": 1.0,
    "variance_floor": 1e-4,
    "centre_momentum": 1.0,
    "log_variance_weight": 0.5,
    "activation_bias_scale": 1.0,
    "cost_bias_scale": 1.0,
    "initial_activation_bias": 0.0,
    "initial_cost_bias": 0.0,
    "class_activation_bias": 0.0,
    "class_cost_bias": 0.0,
    "competition": "parents",
    "scale_by_children": False,
}
_OFFICIAL: Mapping[str, Any] = {
    "class_temperature_factor": 0.25,
    "variance_floor": 5e-4,
    "centre_momentum": 0.9,
    "log_variance_weight": 1.0,
    "activation_bias_scale": 5000.0,
    "cost_bias_scale": _NATS,
    "initial_activation_bias": -0.5,
    "initial_cost_bias": 0.5,
    "class_activation_bias": -1.0,
    "class_cost_bias": 2.0,
    "competition": "places",
    "scale_by_children": False,
}
_NORMALISED: Mapping[str, Any] = {
    **_PAPER,
    "variance_floor": 1e-9,
    "initial_activation_bias": -1000.0,
    "class_activation_bias": -1000.0,
    "scale_by_children": True,
}


class EMRouting(Routing):
    """Expectation maximisation: parents are Gaussians that compete for the children's votes.

    The logit of a parent's activation is

        lambda * (beta_a - mass * sum over the pose of (beta_u + weight * log variance)),

    with an inverse temperature lambda that depends on the iteration and two learned numbers a type
    of parent: beta_a, the worth of being present, and beta_u, the cost of describing a child.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", procedure 1; profile
    "official": the authors' code; profile "normalised": Gritzman 2019, arXiv:1907.00652.
    Difference: a small floor under the variance, without which a parent with one child is not a
    number; a parent whose mass is next to the smallest number, 1e-31 in single precision, has a
    centre of zero. The paper is silent about the
    initial values of both betas: from zero, hidden capsules start at activations about one half.
    In the profile "official" the places that share a child are the true ones at every stride, and
    the masses have no 1e-7 (for the classes 1e-5) added. The profile "normalised" draws no initial
    betas.

    Attributes:
        iterations: Rounds. One round shares every child equally.
        inverse_temperature: Lambda in each round.
        class_temperature_factor: Multiplier of lambda in a layer of one place.
        variance_floor: Added to each variance. With 0, a parent with one child is not a number.
        centre_momentum: Weight of a new centre; the rest is the centre of the round before, zero at
            first. The variance is around that mixture.
        log_variance_weight: Weight of the logarithm of the variance in the cost; half is log sigma.
        activation_bias_scale: The learned value is beta_a divided by it.
        cost_bias_scale: The learned value is beta_u divided by it.
        initial_activation_bias: Initial value of what is learned for beta_a.
        initial_cost_bias: Initial value of what is learned for beta_u.
        class_activation_bias: The same for beta_a in a layer of one place.
        class_cost_bias: The same for beta_u in a layer of one place.
        competition: Who competes for a child: all its "parents"; in each type the "places" that see
            it, in layers of more than one; or at each place on its own the "types", which gives a
            child that many places see more weight.
        scale_by_children: Multiply the mass in the cost by 100 times the types of parents a child
            that a place sees, so that it is alike in layers of different sizes.
        gradient: Whether "all" rounds pass gradients on, or the "last" alone.
    """

    facts: ClassVar[RoutingFacts | None] = RoutingFacts(
        competition="the parents of a child, by density times activation",
        learned="2 numbers a type of parent",
        passes="3 rounds",
        cost="5r - 2",
        memory="1 responsibility",
        gradient="through all rounds, or the last alone",
        failures="a large layer starts with activations near 0 or 1 (profile normalised does not); "
        "no reimplementation reaches the published error",
        published="smallNORB 1.8 % error (Hinton, Sabour and Frosst 2018); the best "
        "reimplementation 4.6 %",
        ours="digits 2.17 (0.12) %, MNIST 2.96 (0.06) %",
    )
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": _PAPER,
        "official": _OFFICIAL,
        "normalised": _NORMALISED,
    }
    protocol_version: ClassVar[int | str] = 2  # since nearly empty parents have centres
    reads_activations: ClassVar[bool] = True
    kind: Literal["em"] = "em"
    iterations: Annotated[int, Field(ge=1, le=100), Ints(1, 5)] = 3
    inverse_temperature: Annotated[InverseTemperature, OneOf(INVERSE_TEMPERATURES)] = (
        RisingInverseTemperature()
    )
    class_temperature_factor: Annotated[Positive, Choices(0.25, 1.0)] = 1.0
    variance_floor: Annotated[float, Field(ge=0), Floats(1e-6, 1e-2, log=True)] = 1e-4
    centre_momentum: Annotated[float, Field(gt=0, le=1), Choices(0.9, 1.0)] = 1.0
    log_variance_weight: Annotated[Positive, Choices(0.5, 1.0)] = 0.5
    activation_bias_scale: Positive = 1.0
    cost_bias_scale: Positive = 1.0
    initial_activation_bias: float = 0.0
    initial_cost_bias: float = 0.0
    class_activation_bias: float = 0.0
    class_cost_bias: float = 0.0
    competition: Annotated[Competition, Choices("parents", "places", "types")] = "parents"
    scale_by_children: Annotated[bool, Choices(False, True)] = False
    gradient: Annotated[Literal["all", "last"], Choices("all", "last")] = "all"

    @property
    def shares_out_once(self) -> bool:
        """Whether all parents of a child compete for it."""
        return self.competition == "parents"

    def build(self, fan: Fan) -> "EMRouter":
        """Return the routing for a layer."""
        return EMRouter(self, fan)


class EMRouter(Router):
    """EM routing in a layer.

    Attributes:
        activation_bias: Beta_a of each type of parent, divided by its scale.
        cost_bias: Beta_u of each type of parent, divided by its scale.
    """

    def __init__(self, settings: EMRouting, fan: Fan) -> None:
        super().__init__()
        self.settings = settings
        self.has_one_place = fan.neighbourhood.num_places == 1
        self.mass_scale = _mass_scale(fan) if settings.scale_by_children else 1.0
        self.activation_bias = nn.Parameter(torch.empty(fan.out_caps))
        self.cost_bias = nn.Parameter(torch.empty(fan.out_caps))

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set the betas; nothing is drawn."""
        settings = self.settings
        activation, cost = settings.initial_activation_bias, settings.initial_cost_bias
        if self.has_one_place:
            activation, cost = settings.class_activation_bias, settings.class_cost_bias
        nn.init.constant_(self.activation_bias, activation)
        nn.init.constant_(self.cost_bias, cost)

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the parents' centres and activations; the generator is not used.

        In half precision and under autocast the rounds are computed in single precision: masses
        and variances span more than half precision holds. The result has the votes' type.
        """
        return route_by_em(votes, self._rounds())

    def share_out(self, votes: Votes, shares: Float[Tensor, "edges sites out_caps"]) -> Routed:
        """Return the capsules that the last M-step makes of given shares, without momentum."""
        return self._rounds().routed_as_shared(votes, shares)

    def _rounds(self) -> EMRounds:
        settings = self.settings
        return EMRounds(
            out_caps=self.cost_bias.shape[0],
            iterations=settings.iterations,
            activation_bias=settings.activation_bias_scale * _single(self.activation_bias),
            cost_bias=settings.cost_bias_scale * _single(self.cost_bias),
            inverse_temperature=self._inverse_temperature,
            variance_floor=settings.variance_floor,
            centre_momentum=settings.centre_momentum,
            log_variance_weight=settings.log_variance_weight,
            mass_scale=self.mass_scale,
            competition=settings.competition,
            gradient=settings.gradient,
        )

    def _inverse_temperature(self, iteration: int) -> float:
        inverse_temperature = self.settings.inverse_temperature.at(iteration)
        if self.has_one_place:
            inverse_temperature *= self.settings.class_temperature_factor
        return inverse_temperature


def _single(bias: Tensor) -> Tensor:
    """Return a bias in single precision at least: scaled, half precision may not hold it."""
    return bias.to(torch.promote_types(bias.dtype, torch.float32))


def _mass_scale(fan: Fan) -> float:
    return _SEEN_BY_PARENT * fan.out_caps / fan.edges
