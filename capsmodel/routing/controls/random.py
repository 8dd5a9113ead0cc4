"""Random routing: the control whose couplings know nothing of the votes."""

from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Float
from pydantic import Field, model_validator
from torch import Tensor

from capsmodel.functional import lengths, squash
from capsmodel.routing.base import Couplings, Fan, Routed, Router, Routing, output_first, share_out
from capsmodel.routing.biased import BiasedRouter
from capsmodel.routing.neighbourhood import Neighbourhood
from capsmodel.routing.votes import Votes
from capsmodel.search_range import Choices


class RandomRouting(Routing):
    """Couplings are drawn, proportional to U(low, high), and add up to 1 over the outputs.

    One draw serves all images of a batch. In training every call draws anew; in evaluation the same
    generator state comes in each time, so the draw is fixed. In a convolutional layer the couplings
    of an input add up to 1 over all outputs at all places that see it.

    Source: Paik, Kwak and Kim 2019, arXiv:1907.13327, the random control.
    Difference: the images of a batch share the draw, so that a prediction does not depend on
    the place in its batch.

    Attributes:
        low: Smallest draw before the normalisation.
        high: Largest draw before the normalisation, above `low`.
        bias: Whether a learned vector is added to each sum of votes, as in dynamic routing.
    """

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
    """Random routing in its place."""

    def __init__(self, routing: RandomRouting, fan: Fan) -> None:
        super().__init__(fan, has_bias=routing.bias)
        self.routing = routing

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the squashed sum of the votes in drawn shares.

        Raises:
            ValueError: If there is no generator.
        """
        if generator is None:
            raise ValueError("Random routing draws its couplings: hand it a generator, not None.")
        grouped = output_first(votes.values)
        sites, out_caps, edges, _ = grouped.shape
        places = votes.neighbourhood.num_places
        draw = torch.rand(edges, places, out_caps, generator=generator, dtype=grouped.dtype)
        shares = self._shares(draw, votes.neighbourhood).to(grouped.device)
        couplings = shares.permute(1, 2, 0).repeat(sites // places, 1, 1)
        poses = squash(self.biased(share_out(grouped, couplings)))
        told = Couplings(couplings.permute(2, 0, 1), votes.neighbourhood)
        return Routed(poses, lengths(poses), told)

    def _shares(
        self, draw: Float[Tensor, "edges places out_caps"], neighbourhood: Neighbourhood
    ) -> Float[Tensor, "edges places out_caps"]:
        low, high = self.routing.low, self.routing.high
        weights = low + (high - low) * draw
        return weights / neighbourhood.sum_over_parents(weights.sum(dim=2)).unsqueeze(2)
