"""Votes for which values of others' code are known, and gradients of ours beside literal ones."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.testing import assert_close

CASES = ((1, 1, 3, 4), (3, 6, 4, 5), (2, 7, 2, 1))
"""Sizes of votes for a comparison: batch, children, parents, numbers of a pose."""


def waves(*shape: int) -> Tensor:
    """Return the sines of 0, 1, 2, ... in a shape."""
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float64).sin().reshape(shape)


VOTES = waves(1, 3, 2, 4)
ACTIVATIONS = torch.tensor([[0.2, 0.5, 0.9]], dtype=torch.float64)


def assert_golden(actual: Tensor, *expected: float) -> None:
    """Check numbers against those of others' code, which are known to eight digits."""
    values = torch.tensor(expected, dtype=torch.float64)
    assert_close(actual.flatten(), values, rtol=0, atol=6e-9)


def assert_alike(
    ours: Callable[..., tuple[Tensor, ...]],
    literal: Callable[..., tuple[Tensor, ...]],
    *inputs: Tensor,
) -> None:
    """Check values to 1e-12 and all gradients to 1e-9, of weighted sums of all that is returned."""
    results: list[tuple[tuple[Tensor, ...], tuple[Tensor, ...]]] = []
    for route in (ours, literal):
        leaves = [tensor.clone().requires_grad_() for tensor in inputs]
        returned = route(*leaves)
        loss = torch.stack([(waves(*output.shape) * output).sum() for output in returned]).sum()
        results.append((returned, torch.autograd.grad(loss, leaves)))
    (values, gradients), (expected, slopes) = results
    for value, reference in zip(values, expected, strict=True):
        assert_close(value, reference, rtol=1e-12, atol=1e-12)
    for gradient, slope in zip(gradients, slopes, strict=True):
        assert_close(gradient, slope, rtol=1e-9, atol=1e-9)
