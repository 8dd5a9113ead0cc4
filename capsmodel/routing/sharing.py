"""How children are shared out among their parents, and the gradient of it."""

from dataclasses import dataclass
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from capsmodel.routing.base import share_out
from capsmodel.routing.neighbourhood import Neighbourhood


@dataclass(frozen=True)
class Shares:
    """What the shares of a child add up to 1 over: all its parents, at all places that see it.

    Attributes:
        neighbourhood: Which edges are of one child.
        with_leak: Whether one more parent, whose logit is always zero, takes a share and drops it.
    """

    neighbourhood: Neighbourhood
    with_leak: bool = False

    def equal(
        self, votes: Float[Tensor, "sites out_caps edges pose"]
    ) -> Float[Tensor, "some_sites one some_edges"]:
        """Return the shares where all parents of a child get the same."""
        sites, out_caps, edges, _ = votes.shape
        if self.neighbourhood.num_places == 1:
            return votes.new_full((1, 1, 1), 1 / (out_caps + self.with_leak))
        places = self.neighbourhood.num_places
        num_seen = self.neighbourhood.sum_over_parents(votes.new_ones(edges, places))
        share = 1 / (out_caps * num_seen + self.with_leak)
        return share.t().unsqueeze(1).repeat(sites // places, 1, 1)

    def share_equally(
        self, votes: Float[Tensor, "sites out_caps edges pose"]
    ) -> Float[Tensor, "sites out_caps pose"]:
        """Return each parent's sum of equal shares of the votes for it."""
        if self.neighbourhood.num_places == 1:
            return votes.sum(dim=2) / (votes.shape[1] + self.with_leak)
        return share_out(votes, self.equal(votes).expand(-1, votes.shape[1], -1))

    def of(
        self, logits: Float[Tensor, "sites out_caps edges"]
    ) -> Float[Tensor, "sites out_caps edges"]:
        """Return the shares by logits: their softmax over all parents of a child."""
        if self.neighbourhood.num_places == 1 and not self.with_leak:
            return logits.softmax(dim=1)
        whole = self.neighbourhood.logsumexp_over_parents(logits.logsumexp(dim=1).t()).t()
        if self.with_leak:
            whole = whole.logaddexp(torch.zeros_like(whole))
        return (logits - whole.unsqueeze(1)).exp()

    def gradient_of_logits(
        self,
        shares: Float[Tensor, "sites out_caps edges"],
        gradient: Float[Tensor, "sites out_caps edges"],
    ) -> Float[Tensor, "sites out_caps edges"]:
        """Return the gradient of the logits by that of the shares; a leak does not change it."""
        mean = (shares * gradient).sum(dim=1, keepdim=True)
        if self.neighbourhood.num_places > 1:
            mean = self.neighbourhood.sum_over_parents(mean.squeeze(1).t()).t().unsqueeze(1)
        return shares * (gradient - mean)


class Sharing(torch.autograd.Function):
    """Share votes out by their agreement with earlier poses, with a gradient written by hand.

    Both parts of the gradient of the votes, through the sum and through the shares, are outer
    products of a row over `edges` with a row over `pose`, so one matrix product makes them
    together. Automatic differentiation would write a tensor as large as the votes for each. A
    second derivative is refused.
    """

    @staticmethod
    def share(
        votes: Float[Tensor, "sites out_caps edges pose"],
        agreed: Float[Tensor, "sites out_caps pose"],
        logits: Float[Tensor, "#sites out_caps edges"] | None,
        shares: Shares,
    ) -> tuple[Float[Tensor, "sites out_caps pose"], Float[Tensor, "sites out_caps edges"]]:
        """Return each output's sum of its shares of the votes, and these shares, detached.

        Args:
            votes: For each output, contiguous.
            agreed: What a vote's product with is its logit.
            logits: Added to these, with a gradient of their own; None are zero.
            shares: What makes shares of the logits.
        """
        return cast(tuple[Tensor, Tensor], Sharing.apply(votes, agreed, logits, shares))

    @staticmethod
    def forward(
        ctx: Any, votes: Tensor, agreed: Tensor, logits: Tensor | None, shares: Shares
    ) -> tuple[Tensor, Tensor]:
        """Return sums and shares; `share` says of what."""
        agreement = agreement_with(votes, agreed)
        couplings = shares.of(agreement if logits is None else agreement + logits)
        ctx.save_for_backward(votes, agreed, couplings)
        ctx.shares, ctx.logits_shape = shares, None if logits is None else logits.shape
        ctx.mark_non_differentiable(couplings)
        return share_out(votes, couplings), couplings

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the gradients of the votes, of what they agreed with, and of the logits."""
        gradient = gradients[0].contiguous()
        votes, agreed, couplings = cast(tuple[Tensor, Tensor, Tensor], ctx.saved_tensors)
        of_logits = ctx.shares.gradient_of_logits(couplings, agreement_with(votes, gradient))
        rows = torch.stack([couplings, of_logits], dim=-1).flatten(0, 1)
        columns = torch.stack([gradient, agreed], dim=-2).flatten(0, 1)
        of_votes = torch.bmm(rows, columns).view_as(votes)
        shape = ctx.logits_shape
        of_own = None if shape is None else of_logits.sum_to_size(shape)
        return of_votes, share_out(votes, of_logits), of_own, None


def agreement_with(
    votes: Float[Tensor, "sites out_caps edges pose"],
    poses: Float[Tensor, "sites out_caps pose"],
) -> Float[Tensor, "sites out_caps edges"]:
    """Return the product of each vote with the pose it is a vote for."""
    sites, out_caps, edges, pose = votes.shape
    rows = poses.reshape(sites * out_caps, 1, pose)
    # This order of the product is several times faster than votes @ poses in MKL.
    products = torch.bmm(rows, votes.view(-1, edges, pose).transpose(1, 2))
    return products.view(sites, out_caps, edges)
