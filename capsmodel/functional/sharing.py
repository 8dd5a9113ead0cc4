"""How children are shared out among their parents, and the gradient of it."""

from dataclasses import dataclass
from typing import Any, Literal, cast

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.differentiation import WrittenByHand, is_plain
from capsmodel.functional.neighbourhood import Neighbourhood
from capsmodel.functional.precision import HALVES
from capsmodel.functional.votes import share_out

ShareCompetition = Literal["parents", "types", "children"]


@dataclass(frozen=True)
class Shares:
    """The group over which the shares of a child add up to 1, by default all its parents.

    Attributes:
        neighbourhood: Which edges belong to one child.
        with_leak: Whether one more parent, whose logit is always zero, takes a share and drops it.
        competition: Who competes: all "parents" of a child, at all places that see it; at each
            place on its own the "types" of parents, so that a child counts at each; or the
            "children" of each parent for it, so that the shares that a parent gets add up to 1.
    """

    neighbourhood: Neighbourhood
    with_leak: bool = False
    competition: ShareCompetition = "parents"

    def equal(
        self, votes: Float[Tensor, "sites out_caps edges pose"]
    ) -> Float[Tensor, "some_sites one some_edges"]:
        """Return the shares where all competitors get the same."""
        sites, out_caps, edges, _ = votes.shape
        if not self._is_over_places:
            return votes.new_full((1, 1, 1), 1 / self.num_competing(out_caps, edges))
        places = self.neighbourhood.num_places
        num_seen = self.neighbourhood.sum_over_parents(votes.new_ones(edges, places))
        share = 1 / (out_caps * num_seen + int(self.with_leak))
        return share.t().unsqueeze(1).repeat(sites // places, 1, 1)

    def share_equally(
        self, votes: Float[Tensor, "sites out_caps edges pose"]
    ) -> Float[Tensor, "sites out_caps pose"]:
        """Return each parent's sum of equal shares of the votes for it."""
        _, out_caps, edges, _ = votes.shape
        if not self._is_over_places:
            return votes.sum(dim=2) / self.num_competing(out_caps, edges)
        return share_out(votes, self.equal(votes).expand(-1, out_caps, -1))

    def of(
        self, logits: Float[Tensor, "sites out_caps edges"]
    ) -> Float[Tensor, "sites out_caps edges"]:
        """Return the shares of logits: their softmax over all competitors.

        Those of half precision are computed in single, as softmax does by itself: else the
        shares of a child would not add up to 1.
        """
        if self.competition == "children":
            return logits.softmax(dim=2)
        if not self._is_over_places and not self.with_leak:
            return logits.softmax(dim=1)
        if logits.dtype in HALVES:
            return self.of(logits.float()).to(logits.dtype)
        log_total = logits.logsumexp(dim=1)
        if self._is_over_places:
            log_total = self.neighbourhood.logsumexp_over_parents(log_total.t()).t()
        if self.with_leak:
            log_total = log_total.logaddexp(torch.zeros_like(log_total))
        return (logits - log_total.unsqueeze(1)).exp()

    def gradient_of_logits(
        self,
        shares: Float[Tensor, "sites out_caps edges"],
        gradient: Float[Tensor, "sites out_caps edges"],
    ) -> Float[Tensor, "sites out_caps edges"]:
        """Return the gradient of the logits from the gradient of the shares, leaky or not."""
        mean = (shares * gradient).sum(dim=self._axis, keepdim=True)
        if self._is_over_places:
            mean = self.neighbourhood.sum_over_parents(mean.squeeze(1).t()).t().unsqueeze(1)
        return shares * (gradient - mean)

    def num_competing(self, out_caps: int, edges: int) -> int:
        """Return over how many a share is one of, where all who compete are of one place."""
        return edges if self.competition == "children" else out_caps + int(self.with_leak)

    @property
    def _is_over_places(self) -> bool:
        return self.competition == "parents" and self.neighbourhood.num_places > 1

    @property
    def _axis(self) -> int:
        return 2 if self.competition == "children" else 1


def shared_out(
    votes: Float[Tensor, "sites out_caps edges pose"],
    agreed: Float[Tensor, "sites out_caps pose"],
    logits: Float[Tensor, "#sites out_caps edges"] | None,
    shares: Shares,
) -> tuple[Float[Tensor, "sites out_caps pose"], Float[Tensor, "sites out_caps edges"]]:
    """Return each output's sum of its shares of the votes, and these shares.

    Args:
        votes: For each output, contiguous.
        agreed: Poses whose product with a vote is its logit.
        logits: Added to these, with a gradient of their own; None are zero.
        shares: Turns the logits into shares.
    """
    if is_plain() or not torch.is_grad_enabled():
        return _shared_out(votes, agreed, logits, shares)
    return cast(tuple[Tensor, Tensor], _Sharing.apply(votes, agreed, logits, shares))


def _shared_out(
    votes: Tensor, agreed: Tensor, logits: Tensor | None, shares: Shares
) -> tuple[Tensor, Tensor]:
    agreement = agreement_with(votes, agreed)
    couplings = shares.of(agreement if logits is None else agreement + logits)
    return share_out(votes, couplings), couplings


class _Sharing(WrittenByHand):
    """Shared votes with a gradient written by hand.

    Both parts of the gradient of the votes, through the sum and through the shares, are outer
    products of a row over `edges` with a row over `pose`, so one matrix product makes them
    together. Automatic differentiation would write a tensor as large as the votes for each. The
    gradient reads the shares as an output, and so can be differentiated once more.
    """

    @staticmethod
    def forward(
        votes: Tensor, agreed: Tensor, logits: Tensor | None, shares: Shares
    ) -> tuple[Tensor, Tensor]:
        return _shared_out(votes, agreed, logits, shares)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        votes, agreed, logits, shares = inputs
        ctx.save_for_backward(votes, agreed, output[1])
        ctx.shares, ctx.logits_shape = shares, None if logits is None else logits.shape
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the gradients of the votes, the poses that they agreed with, and the logits."""
        of_sums, of_couplings = gradients
        votes, agreed, couplings = cast(tuple[Tensor, Tensor, Tensor], ctx.saved_tensors)
        gradient = torch.zeros_like(agreed) if of_sums is None else of_sums.contiguous()
        of_shares = agreement_with(votes, gradient)
        if of_couplings is not None:  # in a second derivative, or where a user reads them
            of_shares = of_shares + of_couplings
        of_logits = ctx.shares.gradient_of_logits(couplings, of_shares)
        # side by side: to mix them number by number takes as long as their product
        rows = torch.stack([couplings, of_logits], dim=-2)
        columns = torch.stack([gradient, agreed], dim=-2)
        of_votes = torch.bmm(
            rows.reshape(-1, *rows.shape[2:]).transpose(1, 2),
            columns.reshape(-1, *columns.shape[2:]),
        ).view_as(votes)
        shape = ctx.logits_shape
        of_initial_logits = None if shape is None else of_logits.sum_to_size(shape)
        return of_votes, share_out(votes, of_logits), of_initial_logits, None


def agreement_with(
    votes: Float[Tensor, "sites out_caps edges pose"],
    poses: Float[Tensor, "sites out_caps pose"],
) -> Float[Tensor, "sites out_caps edges"]:
    """Return the product of each vote with the pose it is a vote for."""
    sites, out_caps, edges, pose = votes.shape
    rows = poses.reshape(sites * out_caps, 1, pose)
    # This order of the product is several times faster than votes @ poses in MKL.
    products = torch.bmm(rows, votes.reshape(-1, edges, pose).transpose(1, 2))
    return products.view(sites, out_caps, edges)
