"""Tensors that stay as they are, kept on their device so that no call copies them there again."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch
from jaxtyping import Shaped
from torch import Tensor

from capsmodel.functional.differentiation import has_storage

_KEPT: dict[object, Tensor] = {}


def kept(
    key: Hashable,
    numbers: Callable[[], Sequence[Any]],
    device: torch.device,
    dtype: torch.dtype | None = None,
) -> Shaped[Tensor, "..."]:
    """Return numbers as a tensor, which is kept for the next call where it is an ordinary one.

    A tensor that is made while something is traced or transformed is that call's alone.

    Args:
        key: What decides the numbers.
        numbers: Returns them, nested as the tensor's axes are.
        device: Where the tensor is to be.
        dtype: Type of its numbers; None for PyTorch's own choice.

    Example:
        >>> import torch
        >>> table = kept("the first squares", lambda: [0, 1, 4], torch.device("cpu"))
        >>> table
        tensor([0, 1, 4])
    """
    if torch.compiler.is_compiling():
        return torch.tensor(numbers(), device=device, dtype=dtype)
    whole_key = (key, device, dtype)
    if whole_key in _KEPT and has_storage(torch.empty(0, device="cpu")):  # none is made in between
        return _KEPT[whole_key]
    with torch.inference_mode(mode=False):  # it must serve trainings too
        tensor = torch.tensor(numbers(), device=device, dtype=dtype)
    if has_storage(tensor):
        _KEPT[whole_key] = tensor
    return tensor


def kept_as(
    numbers: tuple[float, ...], device: torch.device, dtype: torch.dtype
) -> Shaped[Tensor, " numbers"]:
    """Return numbers as a tensor, which is kept; see `kept`.

    Example:
        >>> import torch
        >>> kept_as((0.5, 2.0), torch.device("cpu"), torch.float32)
        tensor([0.5000, 2.0000])
    """
    return kept(numbers, lambda: numbers, device, dtype)
