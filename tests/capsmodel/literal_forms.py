"""Squash and routing by agreement in plain torch, with what others do otherwise as arguments."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.testing import assert_close

from tests.capsmodel.routing.routed import seeded

INPUTS, OUTPUTS = 1, 2  # axes of votes, [batch in_caps out_caps pose]


def squashed(sums: Tensor) -> Tensor:
    length = sums.square().sum(-1, keepdim=True).sqrt()
    return length.square() / (1 + length.square()) * sums / length


def routed(
    votes: Tensor,
    rounds: int = 3,
    softmax_over: int = OUTPUTS,
    logits: Tensor | None = None,
    detached: bool = False,
    bias: float = 0.0,
) -> Tensor:
    """Routing by agreement; where detached, the votes pass no gradient but in the last round."""
    logits = votes.new_zeros(votes.shape[:3]) if logits is None else logits.expand(votes.shape[:3])
    for _ in range(rounds - 1):
        seen = votes.detach() if detached else votes
        poses = squashed(torch.einsum("bio,biop->bop", logits.softmax(softmax_over), seen) + bias)
        logits = logits + torch.einsum("biop,bop->bio", seen, poses)
    return squashed(torch.einsum("bio,biop->bop", logits.softmax(softmax_over), votes) + bias)


def with_gradient(function: Callable[[Tensor], Tensor], argument: Tensor) -> tuple[Tensor, Tensor]:
    """Return a function's value, and the gradient of its weighted sum."""
    argument = argument.clone().requires_grad_()
    value = function(argument)
    weights = torch.randn(value.shape, generator=seeded(3), dtype=value.dtype)
    return value.detach(), torch.autograd.grad((weights * value).sum(), argument)[0]


def assert_same(
    ours: Callable[[Tensor], Tensor], literal: Callable[[Tensor], Tensor], argument: Tensor
) -> None:
    """Check value and gradient."""
    value_of_ours, own_gradient = with_gradient(ours, argument)
    value, gradient = with_gradient(literal, argument)
    assert_close(value_of_ours, value, rtol=1e-9, atol=1e-12)
    assert_close(own_gradient, gradient, rtol=1e-9, atol=1e-12)
