"""Lines of a user's sweep file: where an error passed, and from where a wrong value came."""

import inspect
import linecache
import re
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, NamedTuple

from capsmodel.spelling import words_of

MODULE_PREFIX = "capsweep_sweep_"
"""The module of a sweep file is called so, followed by the hash of its text."""

FOLDER = "_folder"
"""What follows in the name of the package of the modules of its folder."""

_LINES_AROUND = 2
_PARENT = re.compile(rf"\b{MODULE_PREFIX}[0-9a-f]{{16}}{FOLDER}\.")


def keep_lines(filename: str, text: str) -> None:
    """Let tracebacks show the lines of a file that does not exist on a worker."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)


def is_neighbour(module: str) -> bool:
    """Return whether a module is one of a sweep file's folder."""
    return _PARENT.match(module) is not None


def name_in_files(module: str) -> str:
    """Return a module's name as the user's files write it, also within a message."""
    return _PARENT.sub("", module)


class UserLine(NamedTuple):
    """A line of a sweep file; its text is `mine.py, line 30: poses = votes.mean(dim=1)`."""

    file: str
    number: int

    def __str__(self) -> str:
        text = linecache.getline(self.file, self.number).strip()
        return f"{self.file}, line {self.number}" + (f": {text}" if text else "")

    def excerpt(self) -> str:
        """Return the line with those around it, each with its number."""
        first = max(1, self.number - _LINES_AROUND)
        numbers = range(first, self.number + _LINES_AROUND + 1)
        lines = {number: linecache.getline(self.file, number).rstrip() for number in numbers}
        while lines and not lines[max(lines)]:
            del lines[max(lines)]
        width = len(str(max(lines, default=0)))
        return "\n".join(
            f"{'>' if number == self.number else ' '} {number:{width}} | {text}".rstrip()
            for number, text in lines.items()
        )


def line_in_sweep_file(error: BaseException) -> UserLine | None:
    """Return the last line of a sweep file that an error or its cause passed, None if none."""
    if error.__cause__ and (line := line_in_sweep_file(error.__cause__)):
        return line
    lines = [
        UserLine(frame.f_code.co_filename, number)
        for frame, number in traceback.walk_tb(error.__traceback__)
        if is_of_user(frame)
    ]
    return lines[-1] if lines else None


def line_of_frame(frame: FrameType) -> UserLine:
    """Return the innermost line of a sweep file in a stack; the innermost of all if none is."""
    walked: FrameType | None = frame
    while walked and not is_of_user(walked):
        walked = walked.f_back
    shown = walked or frame
    return UserLine(shown.f_code.co_filename, shown.f_lineno)


def error_text(error: BaseException) -> str:
    """Return an error on one line; of a ValueError its sentence, as those of capsmodel are."""
    text = name_in_files(words_of(error)).replace("\n", " ")
    is_sentence = isinstance(error, ValueError) and text.endswith(".")
    return text if is_sentence else f"{type(error).__name__}: {text}"


@dataclass
class Returns:
    """Lines of a sweep file from which its functions returned.

    Attributes:
        last: The line of the last return.
        not_finite: The first line that returned a number that is not finite.
    """

    last: UserLine | None = None
    not_finite: UserLine | None = None


@contextmanager
def watched_returns() -> Generator[Returns]:
    """Yield the lines from which a user's functions return while the block runs.

    If capsmodel fails at a value that such a function returned, the error passes no line of the
    user's, and the last return is the best lead.
    """
    returns = Returns()

    def record_return(frame: FrameType, event: str, value: Any) -> None:
        is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED  # no module and no class
        if event != "return" or not is_function or not is_of_user(frame):
            return
        returns.last = UserLine(frame.f_code.co_filename, frame.f_lineno)
        if returns.not_finite is None and not _is_finite(value):
            returns.not_finite = returns.last

    sys.setprofile(record_return)
    try:
        yield returns
    finally:
        sys.setprofile(None)


def is_of_user(frame: FrameType) -> bool:
    """Return whether a frame runs code of a sweep file."""
    return str(frame.f_globals.get("__name__")).startswith(MODULE_PREFIX)


def user_files() -> set[str]:
    """Return the user's files that this process has run, by the names of their code."""
    modules = [module for name, module in sys.modules.items() if name.startswith(MODULE_PREFIX)]
    files = (getattr(module, "__file__", None) for module in modules)
    return {str(file) for file in files if file is not None}


def _is_finite(value: Any) -> bool:
    torch = sys.modules.get("torch")
    if torch is None:
        return True
    values = value if isinstance(value, tuple) else (value,)
    return all(
        bool(element.isfinite().all())
        for element in values
        if isinstance(element, torch.Tensor) and element.is_floating_point() and not element.is_meta
    )
