"""The number type in which a routing is computed, whatever the votes' type and autocast are."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from capsmodel.functional.votes import Routed, Votes

HALVES = (torch.bfloat16, torch.float16)


def in_own_type(device: str) -> AbstractContextManager[Any]:
    """Compute in the inputs' own type inside the block, also under autocast."""
    return torch.autocast(device, enabled=False) if is_cast(device) else nullcontext()


def in_single(route: Callable[[Tensor], Routed], votes: Tensor) -> Routed:
    """Return the capsules of votes, routed in single precision if these are of half.

    The result has the votes' type. Sums over many children, and logarithms of small shares, need
    more than half precision holds.
    """
    with in_own_type(votes.device.type):
        if votes.dtype not in HALVES:
            return route(votes)
        return _of_type(route(votes.float()), votes.dtype)


def multiplied_in_single(route: Callable[[Votes], Routed], votes: Votes) -> Routed:
    """Return the capsules of a layer's votes, multiplied out and routed in single precision.

    This is so if they are of half precision, and under autocast. Where sums of votes are
    normalised, the rounding of each vote would grow. The result has the type of the activations.
    """
    dtype, device = votes.activations.dtype, votes.activations.device.type
    if dtype not in HALVES and not is_cast(device):
        return route(votes)
    with in_own_type(device):
        return _of_type(route(votes.to(torch.promote_types(dtype, torch.float32))), dtype)


def _of_type(routed: Routed, dtype: torch.dtype) -> Routed:
    poses, activations = routed.poses.to(dtype), routed.activations.to(dtype)
    scores = routed.scores.to(dtype) if isinstance(routed.scores, Tensor) else routed.scores
    return routed._replace(poses=poses, activations=activations, scores=scores)


def is_cast(device: str) -> bool:
    """Return whether autocast is on."""
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
