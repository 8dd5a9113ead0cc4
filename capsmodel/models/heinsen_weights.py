"""The weights that Heinsen has released, as those of our network."""

import math
import os
import pickle
from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor

_BLOCKS = {"primary.logits": "compute_a", "primary.poses": "compute_mu"}
_CAPSULES = {"parts": "routings.0", "classes": "routings.1"}
_VALUES = {"weight": "W", "bias": "B", "router.use": "beta_use", "router.ignore": "beta_ign"}
_UNREAD = ("num_batches_tracked", "CONST_one")
_DAMAGED = (
    pickle.UnpicklingError,
    RuntimeError,
    EOFError,
    ValueError,
    LookupError,
    AttributeError,
    TypeError,
)


def released_weights(path: str | os.PathLike[str], own: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the state dict of a file of the released code as one of our network.

    Nothing in the file is run.

    Source: the released code of Heinsen 2019, arXiv:1911.00792.
    Difference: none.

    Args:
        path: A state dict of the code's `SmallNORBClassifier`, written by `torch.save`.
        own: A state dict of our network, of which shapes are read.

    Raises:
        ValueError: If the file is no such state dict, or does not fit our network.
        OSError: If the file cannot be read.
    """
    released = _read(path)
    names = {_released_name(name): name for name in own}
    if missing := sorted(names.keys() - released.keys()):
        raise ValueError(f"{path} does not fit the network: it has no {missing[0]!r}.")
    unread = {name for name in released if name.endswith(_UNREAD)}
    if unknown := sorted(released.keys() - names.keys() - unread):
        raise ValueError(f"{path} does not fit the network: it has {unknown[0]!r} as well.")
    for theirs, ours in names.items():
        expected = _as_released(ours, own[ours]).shape
        if released[theirs].shape != expected:
            raise ValueError(
                f"{path} does not fit the network: {theirs!r} is of shape "
                f"{list(released[theirs].shape)}, expected {list(expected)}."
            )
    return {ours: _as_ours(ours, released[theirs]) for theirs, ours in names.items()}


def _read(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    try:
        released = torch.load(path, map_location="cpu", weights_only=True)
    except _DAMAGED as error:
        raise ValueError(
            f"{path} is not a file of weights that PyTorch reads without running what is in it."
        ) from error
    if not isinstance(released, Mapping):
        raise ValueError(f"{path} does not hold a state dict, but {type(released).__name__}.")
    by_name = cast(Mapping[Any, Any], released)
    for name, value in by_name.items():
        if not (isinstance(name, str) and isinstance(value, Tensor)):
            raise ValueError(f"{path} does not hold a state dict: {name!r} is no tensor.")
    return dict(by_name)


def _released_name(name: str) -> str:
    """Return the released code's name for a value of ours."""
    for ours, theirs in _CAPSULES.items():
        if name.startswith(ours):
            return f"{theirs}.{_VALUES[name.removeprefix(f'{ours}.')]}"
    block, part, value = name.rsplit(".", 2)
    value = "running_var" if value == "running_variance" else value
    place = int(part == "convolution")
    if block in _BLOCKS:
        return f"{_BLOCKS[block]}.{place}.{value}"
    return f"convolve.{3 * int(block.rpartition('.')[2]) + place}.{value}"  # the third is the swish


_MATRICES = {f"{layer}.weight" for layer in _CAPSULES}
_BIASES = {f"{layer}.bias" for layer in _CAPSULES}


def _as_released(name: str, value: Tensor) -> Tensor:
    """Return a value of ours with the axes of the code: edges, parents, then a matrix."""
    if name in _MATRICES:
        return value.permute(0, 3, 1, 2)
    if name in _BIASES:
        side = math.isqrt(value.shape[1])
        return value.transpose(1, 2).unflatten(2, (side, side))
    return value


def _as_ours(name: str, value: Tensor) -> Tensor:
    """Return a value of the code with the axes of ours: parents last."""
    if name in _MATRICES:
        return value.permute(0, 2, 3, 1)
    return value.flatten(2).transpose(1, 2) if name in _BIASES else value
