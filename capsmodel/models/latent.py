"""Poses of which one number at a time is moved."""

import torch
from jaxtyping import Float
from torch import Tensor


def perturbed(
    poses: Float[Tensor, "batch classes pose"], offsets: Float[Tensor, " offsets"]
) -> tuple[Float[Tensor, "batch*pose*offsets classes pose"], int]:
    """Return the poses with each offset added to each number of a pose, one at a time.

    The number is moved in all classes alike. The order is by image, then number, then offset.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 5.1.
    Difference: none.

    Returns:
        The moved poses, and how many there are of each image.
    """
    batch, classes, pose = poses.shape
    steps = torch.eye(pose, device=poses.device).unsqueeze(1) * offsets.view(1, -1, 1)
    moved = poses.view(batch, 1, 1, classes, pose) + steps.view(1, pose, -1, 1, pose)
    return moved.reshape(-1, classes, pose), pose * len(offsets)
