"""The number type in which a routing is computed, whatever the votes' type and autocast are."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from capsmodel.functional.votes import Routed

HALVES = (torch.bfloat16, torch.float16)


def in_own_type(device: str) -> AbstractContextManager[Any]:
    """Compute in the type of what is given in the block, also within a block of autocast."""
    is_cast = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
    return torch.autocast(device, enabled=False) if is_cast else nullcontext()


def in_single(route: Callable[[Tensor], Routed], votes: Tensor) -> Routed:
    """Return the capsules of votes, routed in single precision if these are of half.

    The result has the votes' type. Sums over many children, and logarithms of small shares, need
    more than half precision holds.
    """
    with in_own_type(votes.device.type):
        if votes.dtype not in HALVES:
            return route(votes)
        routed = route(votes.float())
    poses, activations = routed.poses.to(votes.dtype), routed.activations.to(votes.dtype)
    return routed._replace(poses=poses, activations=activations)
