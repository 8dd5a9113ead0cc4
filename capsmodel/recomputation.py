"""Recomputation: less memory for more time, and the same numbers."""

from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

import torch
from torch.utils.checkpoint import checkpoint

T = TypeVar("T")


def recomputed(function: Callable[..., T], *inputs: Any, generator: torch.Generator | None) -> T:
    """Return what a function does of its inputs, without keeping what its gradient needs.

    The backward pass calls the function once more, so that of all tensors between inputs and
    result only the inputs stay in memory. It draws the same numbers then as at first, from a copy
    of the generator as that was: values and gradients are those of a plain call to the last bit,
    and the generator ends where a plain call leaves it.

    Source: Chen, Xu, Zhang and Guestrin 2016, arXiv:1604.06174, section 4.
    Difference: the caller says what is recomputed.

    Args:
        function: Takes the inputs, then the generator. It must do nothing but return: running
            means, as of batch normalisation, would move twice.
        inputs: Tensors, or what holds them.
        generator: Source of all chance of the function; None for PyTorch's own.
    """
    drawn_from = torch.default_generator if generator is None else generator
    start, calls = drawn_from.get_state(), count()

    def run(*given: Any) -> T:
        if next(calls) == 0:
            return function(*given, drawn_from)
        again = torch.Generator(drawn_from.device)
        again.set_state(start)
        return function(*given, again)

    # Nothing draws from the global generators, so there is no state of theirs to keep.
    return checkpoint(run, *inputs, use_reentrant=False, preserve_rng_state=False)
