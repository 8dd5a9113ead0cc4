"""The user's line whose operation spoils a training step, where the error is raised elsewhere.

A number that is not finite, and a write over what a gradient needs, are found steps later: at the
loss, or in the backward pass. So the step is taken once more, each operation is watched, and
PyTorch's anomaly mode names the operation whose gradient fails.
"""

import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from search_spaces.user_code import UserLine, line_of_frame, user_files

_OVERWRITTEN = re.compile(r"modified by an inplace operation: \[\S+ \[([\d, ]*)\]\]")
_NO_GRADIENT = "returned nan values"
_FRAME = re.compile(r'^  File "(.*)", line (\d+), in ', re.MULTILINE)
_BY_OPERATOR = re.compile(r"__i\w+__|__setitem__|__set__")


def culprit(step: Callable[[], object]) -> UserLine | None:
    """Take a step that fails or gives numbers that are not finite; return the line that spoils it.

    Args:
        step: Fails or spoils its numbers as before.

    Returns:
        None if no operation in a line of the user's is known to.
    """
    operations = _Operations()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            with torch.autograd.detect_anomaly(), operations:
                step()
        except Exception as error:  # noqa: BLE001 - it is known to fail, and reported already
            text = str(error)
            if overwritten := _OVERWRITTEN.search(text):
                return operations.last_write(overwritten[1])
            if _NO_GRADIENT in text and not operations.not_finite:
                return _forward_line([str(warning.message) for warning in warned])
    return operations.not_finite


class _Operations(TorchFunctionMode):
    """Watches the operations that lines of the user's call.

    Attributes:
        not_finite: The first line that made numbers that are not finite of finite ones.
    """

    def __init__(self) -> None:
        super().__init__()
        self.not_finite: UserLine | None = None
        self._files = user_files()
        self._writes: list[tuple[str, UserLine]] = []  # shapes of what was written to

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        is_finite = all(map(_is_finite, args))
        result = func(*args, **(kwargs or {}))
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - there is no public way
        line = line_of_frame(frame)
        if line.file not in self._files:
            return result
        name = getattr(func, "__name__", "")
        is_write = _BY_OPERATOR.fullmatch(name) or (name.endswith("_") and name[-2:] != "__")
        if is_write and args and isinstance(args[0], Tensor):
            self._writes.append((_shape(args[0]), line))
        if self.not_finite is None and is_finite and not _is_finite(result):
            self.not_finite = line
        return result

    def last_write(self, shape: str) -> UserLine | None:
        """Return the last line that wrote to a tensor of a shape, or of any if none is known."""
        lines = [line for written, line in self._writes if written == shape]
        return (lines or [line for _, line in self._writes] or [None])[-1]


def _shape(tensor: Tensor) -> str:
    return ", ".join(map(str, tensor.shape))


def _is_finite(value: Any) -> bool:
    is_number = isinstance(value, Tensor) and value.is_floating_point() and not value.is_meta
    return not is_number or bool(value.isfinite().all())


def _forward_line(sentences: Sequence[str]) -> UserLine | None:
    """Return the user's line in the stack of the operation whose gradient fails."""
    files = user_files()
    frames = [frame for sentence in sentences for frame in _FRAME.findall(sentence)]
    lines = [UserLine(file, int(number)) for file, number in frames if file in files]
    return lines[-1] if lines else None
