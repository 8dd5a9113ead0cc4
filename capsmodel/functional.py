"""Pure functions on the poses of capsules."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def squash(poses: Float[Tensor, "*axes pose"]) -> Float[Tensor, "*axes pose"]:
    """Return the poses with their direction kept and their length n made n^2 / (1 + n^2).

    No small constant is added: the length's gradient at a zero pose is taken as zero, so that
    both value and gradient are finite there. They are up to lengths whose square the number type
    holds: 1e19 in float32. Beyond, they are not numbers.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, equation 1.
    Difference: none.
    """
    length = lengths(poses).unsqueeze(-1)
    return poses * (length / (1 + length.square()))


def lengths(poses: Float[Tensor, "*axes pose"]) -> Float[Tensor, "*axes"]:
    """Return the Euclidean length of each pose; its gradient at a zero pose is zero."""
    return torch.linalg.vector_norm(poses, dim=-1)


def keep_class(
    poses: Float[Tensor, "batch classes pose"], labels: Int[Tensor, " batch"]
) -> Float[Tensor, "batch classes*pose"]:
    """Return all poses in one row an image, with those of every other class set to zero."""
    return (poses * one_hot(labels, poses.shape[1]).unsqueeze(-1)).flatten(1)


def one_hot(labels: Int[Tensor, " batch"], num_classes: int) -> Tensor:
    """Return true at each image's label: booleans of shape [batch classes].

    Unlike `torch.nn.functional.one_hot` it looks at no value, so a GPU need not be waited for.

    Raises:
        ValueError: If the labels are not one integer an image.
    """
    refuse_other_labels(labels)
    return labels.unsqueeze(1) == torch.arange(num_classes, device=labels.device)


def refuse_other_labels(labels: Tensor) -> None:
    """Refuse labels that are not one integer an image, which would be taken for others in silence.

    Raises:
        ValueError: Naming their shape and number type.
    """
    if labels.ndim != 1 or labels.is_floating_point() or labels.dtype is torch.bool:
        raise ValueError(
            f"Labels are one integer an image, of shape [batch], got {labels.dtype} of shape "
            f"{list(labels.shape)}. If they are one-hot, hand labels.argmax(dim=1)."
        )
