"""Random routing: the control whose couplings know nothing of the votes."""

from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Float
from pydantic import Field, model_validator
from torch import Tensor

from capsmodel.functional import squash
from capsmodel.routing.base import VectorRouting, output_first, share_out


class RandomRouting(VectorRouting):
    """Couplings are drawn, proportional to U(low, high), and add up to 1 over the outputs.

    One draw of shape [in_caps, out_caps] serves all images of a batch. In training every call
    draws anew; in evaluation the same generator state comes in each time, so the draw is fixed.

    Source: Paik, Kwak and Kim 2019, arXiv:1907.13327, the random control.
    Difference: the images of a batch share the draw, so that a prediction does not depend on
    the place in its batch.

    Attributes:
        low: Smallest draw before the normalisation.
        high: Largest draw before the normalisation, above `low`.
    """

    kind: Literal["random"] = "random"
    is_symmetric: ClassVar[bool] = False
    low: Annotated[float, Field(gt=0)] = 0.8
    high: Annotated[float, Field(gt=0)] = 1.2

    @model_validator(mode="after")
    def _check_order(self) -> "RandomRouting":
        if self.low >= self.high:
            raise ValueError(f"low must be below high, got low {self.low} and high {self.high}.")
        return self

    def route(
        self,
        votes: Float[Tensor, "batch in_caps out_caps pose"],
        *,
        generator: torch.Generator | None,
    ) -> Float[Tensor, "batch out_caps pose"]:
        """Return the squashed sum of the votes in drawn shares.

        Raises:
            ValueError: If there is no generator.
        """
        if generator is None:
            raise ValueError("Random routing draws its couplings: hand it a generator, not None.")
        batch, in_caps, out_caps, _ = votes.shape
        draw = torch.rand(in_caps, out_caps, generator=generator, dtype=votes.dtype)
        weights = self.low + (self.high - self.low) * draw
        couplings = (weights / weights.sum(dim=1, keepdim=True)).t().to(votes.device)
        return squash(share_out(output_first(votes), couplings.expand(batch, -1, -1)))
