"""Routing by self-attention: votes that agree with all votes for a parent go there, in one pass."""

from collections.abc import Callable
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.checks import check_shape, check_votes
from capsmodel.functional.differentiation import WrittenByHand, is_plain
from capsmodel.functional.neighbourhood import ONE_PLACE
from capsmodel.functional.poses import exponential_squash, lengths
from capsmodel.functional.precision import in_single
from capsmodel.functional.sharing import agreement_with
from capsmodel.functional.votes import Couplings, Routed, output_first, share_out


def self_attention_routing(
    votes: Float[Tensor, "batch in_caps out_caps pose"],
    *,
    bias: Float[Tensor, "in_caps out_caps"] | None = None,
    squash: Callable[[Tensor], Tensor] = exponential_squash,
) -> Routed:
    """Return the poses that votes form in shares by their products with all votes, in one pass.

    The logit of a vote is the sum of its products with the votes of all children for that parent,
    its own included, over the root of the pose's size. Shares are the softmax over the parents,
    plus the bias: with one they need not add up to 1, nor be positive.

    The sum of the products is the product with the sum, so no matrix of children by children is
    made: cost and memory grow with the number of votes. Gradients flow through sums and shares. In
    half precision and under autocast it is computed in single precision, with the votes' type.

    Source: Mazzia, Salvetti and Chiaberge 2021, arXiv:2101.12491, and their released code.
    Difference: none.

    Args:
        votes: The pose of each output that each input predicts.
        bias: Added to the shares, the same for all images; None adds nothing.
        squash: Turns lengths into beliefs, by default 1 - exp(-n).

    Raises:
        ValueError: If a shape does not fit.

    Example:
        >>> import torch
        >>> votes = torch.rand(2, 6, 3, 8)  # 2 images, 6 children, 3 parents, poses of 8 numbers
        >>> self_attention_routing(votes).poses.shape
        torch.Size([2, 3, 8])
    """
    check_votes(votes, iterations=1)
    _, in_caps, out_caps, _ = votes.shape
    if bias is not None:
        check_shape("bias", bias, in_caps=in_caps, out_caps=out_caps)

    def route(votes: Tensor) -> Routed:
        added = None if bias is None else bias.to(votes).t()
        sums, shares = _attended(output_first(votes), added)
        weights = shares if added is None else shares + added
        couplings = Couplings(weights.detach().permute(2, 0, 1), ONE_PLACE)
        poses = squash(sums)
        return Routed(poses, lengths(poses), couplings)

    return in_single(route, votes)


def _attended(
    votes: Float[Tensor, "sites out_caps edges pose"], added: Float[Tensor, "out_caps edges"] | None
) -> tuple[Float[Tensor, "sites out_caps pose"], Float[Tensor, "sites out_caps edges"]]:
    """Return the sum of each output's shares of the votes, and the shares before the bias."""
    if is_plain() or not torch.is_grad_enabled():
        return _computed(votes, added)[:2]
    return cast(tuple[Tensor, Tensor, Tensor], _Attention.apply(votes, added))[:2]


def _computed(votes: Tensor, added: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    key = votes.sum(dim=2) * votes.shape[3] ** -0.5
    shares = agreement_with(votes, key).softmax(dim=1)
    return share_out(votes, shares if added is None else shares + added), shares, key


class _Attention(WrittenByHand):
    """Shared votes with a gradient written by hand.

    The gradient of the votes is a sum of three outer products of a row over `edges` with a row over
    `pose`, of which one matrix product makes all. Automatic differentiation would write a tensor as
    large as the votes for each. Shares and key are outputs, so that the gradient can be
    differentiated once more.
    """

    @staticmethod
    def forward(votes: Tensor, added: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        return _computed(votes, added)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs, *output[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the gradients of the votes and of the bias of the shares."""
        of_sums, of_shares, of_key = gradients
        votes, added, shares, key = ctx.saved_tensors
        gradient = torch.zeros_like(key) if of_sums is None else of_sums.contiguous()
        of_whole = agreement_with(votes, gradient)
        slope = of_whole if of_shares is None else of_whole + of_shares
        of_logits = shares * (slope - (shares * slope).sum(dim=1, keepdim=True))
        of_keys = share_out(votes, of_logits)
        of_keys = (of_keys if of_key is None else of_keys + of_key) * votes.shape[3] ** -0.5
        weights = shares if added is None else shares + added
        rows = torch.stack([weights, of_logits, torch.ones_like(shares)], dim=-2)
        columns = torch.stack([gradient, key, of_keys], dim=-2)
        of_votes = torch.bmm(
            rows.reshape(-1, *rows.shape[2:]).transpose(1, 2),
            columns.reshape(-1, *columns.shape[2:]),
        ).view_as(votes)
        return of_votes, None if added is None else of_whole.sum(dim=0)
