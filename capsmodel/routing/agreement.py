"""Routing by agreement: its settings and its layers."""

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Float
from pydantic import Field, model_validator
from torch import Tensor, nn

from capsmodel.chance import normal
from capsmodel.functional import Routed
from capsmodel.functional.agreement import AgreementRounds, route_by_agreement
from capsmodel.functional.controls import equal_routing
from capsmodel.functional.sharing import ShareCompetition, Shares
from capsmodel.functional.votes import LinearVotes, Votes
from capsmodel.routing.base import BiasedRouter, Fan, Routing, RoutingFacts
from capsmodel.routing.inverse_temperature import (
    INVERSE_TEMPERATURES,
    ConstantInverseTemperature,
    InverseTemperature,
)
from capsmodel.search_range import Choices, Floats, Ints
from capsmodel.settings.parts import OneOf, Part, later
from capsmodel.squash import SQUASHES, SabourSquash, Squash


class InitialLogits(Part, ABC):
    """The start of routing by agreement: how an input is shared before anything agrees.

    All images, and all places of a convolutional layer, share the same ones.

    Attributes:
        are_learned: Whether they are a parameter of the layer, which starts at zero.
    """

    family: ClassVar[str] = "initial logits"
    are_learned: ClassVar[bool] = False

    @abstractmethod
    def draw(
        self, edges: int, out_caps: int, generator: torch.Generator | None
    ) -> Float[Tensor, "edges out_caps"] | None:
        """Return the logits of one pass, in float32 on the CPU; None are zero, or the parameter.

        Args:
            edges: Rows.
            out_caps: Columns.
            generator: Generator of a draw, on the CPU; None for PyTorch's own.
        """


class ZeroLogits(InitialLogits):
    """Every output starts with the same share.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, procedure 1, line 2.
    Difference: none.
    """

    kind: Literal["zero"] = "zero"

    def draw(
        self, edges: int, out_caps: int, generator: torch.Generator | None
    ) -> Float[Tensor, "edges out_caps"] | None:
        """Return None."""
        return None


class LearnedLogits(InitialLogits):
    """The shares at the start are learned.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 2, where the initial logits
    are log priors that may be learned with the other weights.
    Difference: none. Their released code has none.
    """

    kind: Literal["learned"] = "learned"
    are_learned: ClassVar[bool] = True

    def draw(
        self, edges: int, out_caps: int, generator: torch.Generator | None
    ) -> Float[Tensor, "edges out_caps"] | None:
        """Return None."""
        return None


class NormalLogits(InitialLogits):
    """The shares at the start are drawn anew in each pass.

    The images of a batch share the draw, so that a prediction does not depend on the place in its
    batch. Source: none.

    Attributes:
        deviation: Standard deviation of the normal distribution around zero.
    """

    kind: Literal["normal"] = "normal"
    deviation: Annotated[float, Field(gt=0), Floats(0.01, 3.0, log=True)] = 1.0

    def draw(
        self, edges: int, out_caps: int, generator: torch.Generator | None
    ) -> Float[Tensor, "edges out_caps"] | None:
        """Return the drawn logits."""
        return self.deviation * normal((edges, out_caps), generator)


INITIAL_LOGITS = (ZeroLogits, LearnedLogits, NormalLogits)


class AgreementRouting(Routing, ABC):
    """Votes flow to the outputs that already agree with them.

    Every round shares each input among the outputs, adds up the shared votes, and raises the share
    of outputs whose pose points the way the vote does. The shares of an input add up to 1 over all
    outputs, in a convolutional layer at all places that see it. Time grows with the iterations
    times the number of votes.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, procedure 1.
    Difference: the last update of the logits is left out, as nothing reads it. The logits always
    equal the initial ones plus the products of the votes with the sum of all earlier poses, so only
    that sum is stored.

    Attributes:
        iterations: Rounds of sharing. One round shares every vote by the initial logits.
        bias: Whether a learned vector is added to each sum of votes, in every round, as the
            authors' released code does; it starts at 0.1.
        gradient: Whether gradients flow through all rounds, as in that code, or only through the
            last, which takes the shares as given, as a widespread reimplementation does.
        squash: Turns lengths into beliefs.
        initial_logits: Initial shares of the inputs.
        inverse_temperature: Multiplier of the logits in each round.
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
    """Routing by agreement in a layer.

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
        rounds = AgreementRounds(
            iterations=routing.iterations,
            has_leak=routing.has_leak,
            bias=self.bias,
            logits=logits,
            squash=routing.squash.function,
            inverse_temperature=routing.inverse_temperature.at,
            gradient=routing.gradient,
            competition=routing.competition,
            neighbourhood=votes.neighbourhood,
        )
        return route_by_agreement(votes, rounds)

    def squashed(
        self, sums: Float[Tensor, "sites out_caps pose"]
    ) -> Float[Tensor, "sites out_caps pose"]:
        """Return the poses that sums of votes become, by the squash of the settings."""
        return self.routing.squash.squash(sums)

    def _initial_logits(
        self, generator: torch.Generator | None
    ) -> Float[Tensor, "edges out_caps"] | None:
        drawn = self.routing.initial_logits.draw(*self._shape, generator)
        return self.logits if drawn is None else drawn


class DynamicRouting(AgreementRouting):
    """Routing by agreement whose shares are the softmax over the outputs.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, procedure 1.
    Difference: none with the defaults, except for the logits, see `AgreementRouting`.
    """

    facts: ClassVar[RoutingFacts | None] = RoutingFacts(
        competition="the parents of a child",
        learned="nothing; optionally a bias, first logits, an inverse temperature",
        passes="3 rounds",
        cost="2r - 1",
        memory="1 share",
        gradient="through all rounds, or the last alone",
        failures="without a bias, several capsule layers hardly train (Peer, Stabinger and "
        "Rodríguez-Sánchez 2021)",
        published="MNIST 0.25 ± 0.005 % error, 3 trainings (Sabour, Frosst and Hinton 2017)",
        ours="digits 1.72 (0.23) %, MNIST 2.59 (0.09) %",
    )
    kind: Literal["dynamic"] = "dynamic"


class LeakyRouting(AgreementRouting):
    """Routing by agreement in which a share of each input leaks away.

    One more output, whose logit stays at zero, takes part in each softmax and is then dropped: an
    input that agrees with nothing need not be explained. In a convolutional layer an input has one
    leak.

    Source: the released code of Sabour, Frosst and Hinton 2017, arXiv:1710.09829, where it is the
    paper's category "none of the above".
    Difference: none with a bias, which the paper does not have.
    """

    facts: ClassVar[RoutingFacts | None] = RoutingFacts(
        competition="the parents of a child, and its leak",
        learned="nothing; optionally as dynamic routing",
        passes="3 rounds",
        cost="2r - 1",
        memory="1 share",
        gradient="through all rounds, or the last alone",
        failures="as dynamic routing",
        published="CIFAR-10 10.6 % error, 7 networks together (Sabour, Frosst and Hinton 2017)",
    )
    has_leak: ClassVar[bool] = True
    kind: Literal["leaky"] = "leaky"

    @model_validator(mode="after")
    def _check_competition(self) -> "LeakyRouting":
        if self.competition == "children":
            raise ValueError(
                "competition must be 'parents' or 'types' in leaky routing, got 'children': the "
                "leak is one more parent."
            )
        return self
