"""Uniform routing: the control without any routing."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.routing.base import VectorRouting
from capsmodel.routing.dynamic import route_by_agreement


class UniformRouting(VectorRouting):
    """Every input is shared equally among the outputs, whatever it votes.

    The same arithmetic as one iteration of dynamic routing, so the two agree to the last bit.
    """

    kind: Literal["uniform"] = "uniform"

    def route(
        self,
        votes: Float[Tensor, "batch in_caps out_caps pose"],
        *,
        generator: torch.Generator | None,
    ) -> Float[Tensor, "batch out_caps pose"]:
        """Return the squashed equal share of all votes; the generator is not used."""
        return route_by_agreement(votes, iterations=1)
