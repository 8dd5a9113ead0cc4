"""What a network keeps from call to call that no checkpoint holds."""

from collections import deque
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

_OF_PYTORCH = frozenset(vars(nn.Module()))


def unsaved_state(unbroken: nn.Module, resumed: nn.Module) -> str:
    """Return the first attribute that differs after the same step, "" if none does.

    A value that each call computes anew, such as kept activations, is the same in both. A count is
    not. Numbers, texts, tensors and containers of these are compared, other objects are not.

    Args:
        unbroken: A network after some steps.
        resumed: The same after the last of these, for which it was restored from a checkpoint.
    """
    others = dict(resumed.named_modules())
    for path, module in unbroken.named_modules():
        kept, other = _kept_by(module), _kept_by(others[path])
        for name in kept.keys() | other.keys():
            if not (name in kept and name in other and _are_equal(kept[name], other[name])):
                return f"{path}.{name}".removeprefix(".").removeprefix("module.")
    return ""


def _kept_by(module: nn.Module) -> dict[str, Any]:
    """Return the plain attributes of a module, and its buffers that no file holds."""
    plain = {name: value for name, value in vars(module).items() if name not in _OF_PYTORCH}
    saved = module.state_dict()
    buffers = module.named_buffers(recurse=False)
    return plain | {name: value for name, value in buffers if name not in saved}


def _are_equal(value: Any, other: Any) -> bool:
    if type(value) is not type(other):
        return False
    if isinstance(value, Tensor):
        return value.shape == other.shape and torch.equal(value.nan_to_num(), other.nan_to_num())
    if isinstance(value, np.ndarray):
        return bool(np.array_equal(value, other))
    if isinstance(value, Mapping):
        first, second = cast(Mapping[Any, Any], value), cast(Mapping[Any, Any], other)
        return first.keys() == second.keys() and all(
            _are_equal(first[key], second[key]) for key in first
        )
    if isinstance(value, list | tuple | deque):
        first, second = list(cast(Any, value)), list(other)
        return len(first) == len(second) and all(map(_are_equal, first, second))
    is_plain = isinstance(value, bool | int | float | str | set | frozenset | np.generic)
    return not is_plain or value == other or value != value
