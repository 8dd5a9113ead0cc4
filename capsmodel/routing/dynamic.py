"""Dynamic routing: votes flow to the outputs that already agree with them."""

from typing import Annotated, Any, Literal, cast

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from capsmodel.functional import squash
from capsmodel.routing.base import VectorRouting, output_first, share_out
from capsmodel.search_range import Ints


class DynamicRouting(VectorRouting):
    """Routing by agreement.

    Attributes:
        iterations: Rounds of sharing. One round shares every vote equally.
    """

    kind: Literal["dynamic"] = "dynamic"
    iterations: Annotated[int, Field(ge=1, le=100), Ints(1, 5)] = 3

    def route(
        self,
        votes: Float[Tensor, "batch in_caps out_caps pose"],
        *,
        generator: torch.Generator | None,
    ) -> Float[Tensor, "batch out_caps pose"]:
        """Return the poses on which the votes agree; the generator is not used."""
        return route_by_agreement(votes, iterations=self.iterations)


def route_by_agreement(
    votes: Float[Tensor, "batch in_caps out_caps pose"], *, iterations: int
) -> Float[Tensor, "batch out_caps pose"]:
    """Send each input capsule's vote to the outputs that already agree with it.

    Every round shares each input among the outputs (softmax over `out_caps`), adds up the shared
    votes, and raises the share of outputs whose pose points the way the vote does. Gradients flow
    through every round, so the backward pass keeps the shares of each one. Time grows with
    `iterations * votes.numel()`.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, procedure 1.
    Difference: the last update of the logits is left out, as nothing reads it. The logits start
    at zero, so they are at all times the products of the votes with the sum of all earlier poses:
    that sum is kept in their place.

    Args:
        votes: Output pose that each input capsule predicts.
        iterations: Rounds of sharing, at least 1.

    Returns:
        One pose an output, of length below 1.
    """
    grouped = output_first(votes)
    poses = squash(grouped.sum(dim=2) / grouped.shape[1])
    agreed = poses
    for _ in range(iterations - 1):
        poses = squash(_Sharing.share(grouped, agreed))
        agreed = agreed + poses
    return poses


class _Sharing(torch.autograd.Function):
    """Share the votes by their agreement with earlier poses, with a gradient written by hand.

    Both parts of the gradient of the votes, through the sum and through the couplings, are outer
    products of a row over `in_caps` with a row over `pose`, so one matrix product makes them
    together. Automatic differentiation would write a tensor as large as the votes for each.
    """

    @staticmethod
    def share(
        votes: Float[Tensor, "batch out_caps in_caps pose"],
        agreed: Float[Tensor, "batch out_caps pose"],
    ) -> Float[Tensor, "batch out_caps pose"]:
        """Return each output's sum of its shares of the votes."""
        return cast(Tensor, _Sharing.apply(votes, agreed))

    @staticmethod
    def forward(ctx: Any, votes: Tensor, agreed: Tensor) -> Tensor:
        couplings = _agreement(votes, agreed).softmax(dim=1)
        ctx.save_for_backward(votes, agreed, couplings)
        return share_out(votes, couplings)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        (gradient,) = gradients
        votes, agreed, couplings = cast(tuple[Tensor, Tensor, Tensor], ctx.saved_tensors)
        of_couplings = _agreement(votes, gradient)
        mean = (couplings * of_couplings).sum(dim=1, keepdim=True)
        of_logits = couplings * (of_couplings - mean)
        rows = torch.stack([couplings, of_logits], dim=-1).flatten(0, 1)
        columns = torch.stack([gradient, agreed], dim=-2).flatten(0, 1)
        of_votes = torch.bmm(rows, columns).view_as(votes)
        return of_votes, share_out(votes, of_logits)


def _agreement(
    votes: Float[Tensor, "batch out_caps in_caps pose"],
    poses: Float[Tensor, "batch out_caps pose"],
) -> Float[Tensor, "batch out_caps in_caps"]:
    batch, out_caps, in_caps, pose = votes.shape
    rows = poses.reshape(batch * out_caps, 1, pose)
    # This order of the product is several times faster than votes @ poses in MKL.
    products = torch.bmm(rows, votes.view(-1, in_caps, pose).transpose(1, 2))
    return products.view(batch, out_caps, in_caps)
