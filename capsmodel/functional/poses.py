"""Pure functions on the poses of capsules."""

from typing import Any, cast

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from capsmodel.functional.differentiation import WrittenByHand, is_traced
from capsmodel.functional.labels import check_different, checked, true_classes

_SHORT = 1e-8  # below it 1 - n / 2 is (1 - exp(-n)) / n to the last bit


def squash(poses: Float[Tensor, "*axes pose"]) -> Float[Tensor, "*axes pose"]:
    """Return the poses with the same direction and the length n^2 / (1 + n^2) in place of n.

    No small constant is added: the length's gradient at a zero pose is taken as zero, so that
    both value and gradient are finite there. This holds up to lengths whose square the number type
    holds, 1e19 in float32; half precision is computed in single. The second derivative at a zero
    pose, which depends on the direction it is taken in, is taken as zero.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, equation 1.
    Difference: none.

    Example:
        >>> import torch
        >>> squash(torch.tensor([[3.0, 4.0], [0.0, 0.0]])).norm(dim=1)
        tensor([0.9615, 0.0000])
    """
    if poses.dtype is torch.float16:
        return squash(poses.float()).to(poses.dtype)
    length = lengths(poses).unsqueeze(-1)
    return poses * (length / (1 + length.square()))


def squash_with_epsilon(
    poses: Float[Tensor, "*axes pose"], epsilon: float
) -> Float[Tensor, "*axes pose"]:
    """Return the poses squashed as widespread reimplementations do it.

    They divide a pose by sqrt(n^2 + epsilon) in the place of its length n.

    Example:
        >>> import torch
        >>> squash_with_epsilon(torch.tensor([3.0, 4.0]), epsilon=1e-7)
        tensor([0.5769, 0.7692])
    """
    if poses.dtype is torch.float16:
        return squash_with_epsilon(poses.float(), epsilon).to(poses.dtype)
    squared = poses.square().sum(dim=-1, keepdim=True)
    return poses * (squared / (1 + squared) * (squared + epsilon).rsqrt())


def exponential_squash(poses: Float[Tensor, "*axes pose"]) -> Float[Tensor, "*axes pose"]:
    """Return the poses with the same direction and the length 1 - exp(-n) in place of n.

    Source: Xi, Bing and Jin 2017, arXiv:1712.03480, and the released code of Mazzia, Salvetti and
    Chiaberge 2021, arXiv:2101.12491.
    Difference: none.

    Example:
        >>> import torch
        >>> exponential_squash(torch.tensor([0.3, 0.4])).norm()
        tensor(0.3935)
    """
    length = lengths(poses).unsqueeze(-1)
    is_short = length < _SHORT
    long = length.where(~is_short, torch.ones_like(length))
    return poses * (1 - length / 2).where(is_short, -torch.expm1(-long) / long)


def lengths(poses: Float[Tensor, "*axes pose"]) -> Float[Tensor, "*axes"]:
    """Return the Euclidean length of each pose.

    At a zero pose its gradient and its second derivative are taken as zero.

    Example:
        >>> import torch
        >>> lengths(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
        tensor([5., 0.])
    """
    if not torch.is_grad_enabled() or is_traced():
        return torch.linalg.vector_norm(poses, dim=-1)
    return cast(Tensor, _Lengths.apply(poses))


class _Lengths(WrittenByHand):
    """Lengths whose second derivative is a number at a zero pose, where PyTorch's own is none.

    Values and first gradients are PyTorch's own to the bit. It knows forward mode.
    """

    @staticmethod
    def forward(poses: Tensor) -> Tensor:
        return torch.linalg.vector_norm(poses, dim=-1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs, output)
        ctx.save_for_forward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return gradients[0].unsqueeze(-1) * _directions(*ctx.saved_tensors)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        return (tangents[0] * _directions(*ctx.saved_tensors)).sum(dim=-1)


def _directions(
    poses: Float[Tensor, "*axes pose"], lengths: Float[Tensor, "*axes"]
) -> Float[Tensor, "*axes pose"]:
    """Return the poses over their lengths, zero with all derivatives where that is zero."""
    length = lengths.unsqueeze(-1)
    is_zero = length == 0
    if torch.is_grad_enabled():
        length = length.masked_fill(is_zero, 1.0)
    return (poses / length).masked_fill(is_zero, 0.0)


def keep_class(
    poses: Float[Tensor, "batch classes pose"],
    labels: Integer[Tensor, " batch"] | Integer[Tensor, "batch several"],
) -> Float[Tensor, "batch classes*pose"] | Float[Tensor, "batch several classes*pose"]:
    """Return all poses in one row per image, with those of every other class set to zero.

    Args:
        poses: Poses of the class capsules.
        labels: The class of each image; or several of each, with a row for each, -1 for a row of
            zeros.

    Raises:
        ValueError: If the labels are not integers of such a shape. In plain tensors on the CPU also
            if a label is no class; elsewhere the row is NaN then.

    Example:
        >>> import torch
        >>> keep_class(torch.ones(1, 3, 2), torch.tensor([1]))
        tensor([[0., 0., 1., 1., 0., 0.]])
    """
    if isinstance(labels, Tensor) and labels.ndim == 2:  # pyright: ignore[reportUnnecessaryIsInstance]
        check_different(labels)
        several = labels.shape[1]
        rows = keep_class(poses.repeat_interleave(several, dim=0), labels.clamp(min=0).flatten())
        is_class = (labels >= 0).unsqueeze(2)
        return rows.unflatten(0, (-1, several)).masked_fill(~is_class, 0.0)
    truth = true_classes(labels, poses)
    is_true = truth.is_true(poses.shape[1])
    return checked((poses * is_true.unsqueeze(-1)).flatten(1), truth.is_class)
