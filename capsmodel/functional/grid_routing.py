"""Routing by agreement in which all places of a grid compete: a child's vote is a whole map."""

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.checks import check_shape
from capsmodel.functional.poses import squash
from capsmodel.functional.precision import in_own_type


def grid_routing(
    votes: Float[Tensor, "batch in_types out_types pose height width"],
    iterations: int = 3,
    *,
    bias: Float[Tensor, "out_types pose"] | None = None,
) -> Float[Tensor, "batch out_types pose height width"]:
    """Return the maps that votes form: a type of children shares out over all types and places.

    The shares of a type of children add up to 1 over all types of parents at all places. The poses
    of a type of parents are squashed together, as one vector of all its places: its map has a
    length of at most 1. Gradients flow through all rounds. In half precision and under autocast it
    is computed in single precision, with the votes' type.

    Source: Rajasegaran and others 2019, arXiv:1904.09546, section 3.2, and their released code.
    Difference: none.

    Args:
        votes: The map of each type of parents that each type of children predicts.
        iterations: Rounds.
        bias: Added to the sums in every round.

    Raises:
        ValueError: If a shape or a number of rounds does not fit.

    Example:
        >>> import torch
        >>> votes = torch.rand(2, 4, 3, 8, 5, 5)  # of 4 types of children, at 5 by 5 places
        >>> grid_routing(votes).shape
        torch.Size([2, 3, 8, 5, 5])
    """
    axes = ("batch", "in_types", "out_types", "pose", "height", "width")
    check_shape("votes", votes, **dict.fromkeys(axes))
    if iterations < 1:
        raise ValueError(f"iterations must be 1 or more, got {iterations}.")
    _, _, out_types, pose, _, _ = votes.shape
    if bias is not None:
        check_shape("bias", bias, out_types=out_types, pose=pose)
    with in_own_type(votes.device.type):
        is_half = votes.dtype in {torch.float16, torch.bfloat16}
        wide = votes.float() if is_half else votes
        added = 0.0 if bias is None else bias.to(wide)[:, :, None, None]

        def routed(logits: Tensor) -> Tensor:
            shares = logits.flatten(2).softmax(dim=2).view(logits.shape)
            sums = (shares.unsqueeze(3) * wide).sum(dim=1) + added
            return squash(sums.flatten(2)).view(sums.shape)

        logits = torch.zeros_like(wide[:, :, :, 0])
        poses = routed(logits)
        for _ in range(iterations - 1):
            logits = logits + (wide * poses.unsqueeze(1)).sum(dim=3)
            poses = routed(logits)
        return poses.to(votes.dtype)
