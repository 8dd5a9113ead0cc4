"""How much a command prints: `-q` and `-v`, before the command or behind it."""

import logging
import os
import sys
import time
import warnings
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated

import typer

from sweeps.cli.terminal import complain
from sweeps.records.errors import BadInput

_PACKAGE = logging.getLogger("sweeps")
_IS_QUIET: ContextVar[bool] = ContextVar("is_quiet", default=False)

QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print only results and errors.")]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Also print log lines with their times.")
]


def is_quiet() -> bool:
    """Return whether hints and progress are to be left out."""
    return _IS_QUIET.get()


@contextmanager
def verbosity(*, is_quiet: bool, is_verbose: bool) -> Generator[None]:
    """Print hints, warnings and log lines, or not, while the block runs.

    Raises:
        BadInput: If both less and more are asked for.
    """
    if is_quiet and is_verbose:
        raise BadInput("-q asks for less and -v for more: give one of them.")
    token, level = _IS_QUIET.set(is_quiet), _PACKAGE.level
    try:
        if is_verbose:
            with _timed_lines():
                yield
        elif is_quiet:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _PACKAGE.setLevel(logging.ERROR)
                yield
        else:
            yield
    finally:
        _PACKAGE.setLevel(level)
        _IS_QUIET.reset(token)


@contextmanager
def progress_output(*, is_stdout_reserved: bool) -> Generator[None]:
    """Send what the block prints on its way to where it belongs; nowhere if the command is quiet.

    Args:
        is_stdout_reserved: Whether standard output is for the result alone, so that progress goes
            to standard error.
    """
    if is_quiet():
        with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing):
            yield
    elif is_stdout_reserved:
        with redirect_stdout(sys.stderr):
            yield
    else:
        yield


@contextmanager
def _timed_lines() -> Generator[None]:
    """Print each log line of the package with the seconds since the block began."""
    lines = _TimedLines()
    _PACKAGE.addHandler(lines)
    _PACKAGE.setLevel(logging.INFO)
    try:
        yield
    finally:
        lines.print(f"over, after {time.process_time():.2f} s of processor time")
        _PACKAGE.removeHandler(lines)


class _TimedLines(logging.Handler):
    """Prints each record of the log with its time."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._began = time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        self.print(record.getMessage())

    def print(self, sentence: str) -> None:
        complain(f"{time.monotonic() - self._began:.2f} s: {sentence}")
