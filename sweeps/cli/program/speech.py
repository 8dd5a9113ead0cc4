"""How much a command says: `-q` and `-v`, before the command or behind it."""

import functools
import inspect
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from sweeps.cli.terminal import complain
from sweeps.records.errors import BadInput

_PACKAGE = logging.getLogger("sweeps")

QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Say what happens beneath, and when.")
]


@dataclass(frozen=True)
class Speech:
    """How much is said.

    Attributes:
        is_quiet: Nothing but results and errors.
        is_verbose: Also what happens beneath.
    """

    is_quiet: bool = False
    is_verbose: bool = False


_SPEECH: ContextVar[Speech] = ContextVar("speech", default=Speech())  # noqa: B039


def is_quiet() -> bool:
    """Return whether hints and progress are to be left out."""
    return _SPEECH.get().is_quiet


def spoken(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say how much it says.

    Raises:
        BadInput: When it is called, if it is to say both less and more.
    """
    own = [*inspect.signature(command).parameters.values()]
    option = functools.partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
    added = [
        option("speech_context", annotation=typer.Context),
        option("quiet", default=False, annotation=QuietOption),
        option("verbose", default=False, annotation=VerboseOption),
    ]

    @functools.wraps(command)
    def spoken_command(**given: Any) -> None:
        before = given.pop("speech_context").parent.params
        speech = Speech(
            is_quiet=given.pop("quiet") or before["quiet"],
            is_verbose=given.pop("verbose") or before["verbose"],
        )
        with _speaking(speech):
            command(**given)

    spoken_command.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
    spoken_command.__annotations__ = {each.name: each.annotation for each in (*own, *added)}
    return spoken_command


@contextmanager
def progress_as_asked(*, is_apart: bool) -> Generator[None]:
    """Have what the block prints on its way left out where only results are asked for.

    Args:
        is_apart: Whether standard output is for the result alone, and progress for standard error.
    """
    if is_quiet():
        with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing):
            yield
    elif is_apart:
        with redirect_stdout(sys.stderr):
            yield
    else:
        yield


@contextmanager
def _speaking(speech: Speech) -> Generator[None]:
    """Have hints, warnings and log lines said, or not, while the block runs."""
    if speech.is_quiet and speech.is_verbose:
        raise BadInput("-q asks for less and -v for more: give one of them.")
    token, level = _SPEECH.set(speech), _PACKAGE.level
    try:
        if speech.is_verbose:
            with _timed_lines():
                yield
        elif speech.is_quiet:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _PACKAGE.setLevel(logging.ERROR)
                yield
        else:
            yield
    finally:
        _PACKAGE.setLevel(level)
        _SPEECH.reset(token)


@contextmanager
def _timed_lines() -> Generator[None]:
    """Have each line of the package's log told, with the seconds since the block began."""
    lines = _TimedLines()
    _PACKAGE.addHandler(lines)
    _PACKAGE.setLevel(logging.INFO)
    try:
        yield
    finally:
        lines.tell(f"over, after {time.process_time():.2f} s of processor time")
        _PACKAGE.removeHandler(lines)


class _TimedLines(logging.Handler):
    """Prints each record of the log with its time."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._began = time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        self.tell(record.getMessage())

    def tell(self, sentence: str) -> None:
        complain(f"{time.monotonic() - self._began:.2f} s: {sentence}")
