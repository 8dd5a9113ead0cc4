"""Short texts of values that hold tensors: their types and shapes instead of all their numbers."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from torch import Tensor


def shapes_repr(self: Any) -> str:
    """Return the repr of a named tuple or dataclass, its tensors as `float32[4, 10]`.

    A class takes it as its method: `__repr__ = shapes_repr`.
    """
    names = [field.name for field in fields(self)] if is_dataclass(self) else self._fields
    shown = ", ".join(f"{name}={_short(getattr(self, name))}" for name in names)
    return f"{type(self).__name__}({shown})"


def _short(value: Any) -> str:
    if isinstance(value, Tensor):
        place = "" if value.device.type == "cpu" else f" on {value.device}"
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}{place}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_short(item)}" for key, item in value.items()) + "}"
    if type(value) is tuple:
        return "(" + ", ".join(map(_short, value)) + ("," * (len(value) == 1)) + ")"
    return repr(value)
