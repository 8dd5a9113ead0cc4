"""The one way to the terminal: whatever is printed passes here, and none of it commands it.

Names, reasons and configs come from records, sweep files and arguments, and may hold escape
sequences that hide, forge or retitle what a reader sees. Those who print need not think of it.
"""

import logging
import sys
import traceback
import warnings
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TextIO

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment

from sweeps.records.plain_text import one_line, showable


class PlainConsole(Console):
    """A console of which no text commands the terminal; only its own colours do."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield what is to be printed, each text cleaned."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else showable(text), style, control)


def plain(text: str) -> str:
    """Return a text on one line, without control characters, that rich takes as it is."""
    return escape(one_line(text))


def complain(sentence: str) -> None:
    """Print one sentence on one line to standard error."""
    typer.echo(f"capsweep: {one_line(sentence)}", err=True)


@contextmanager
def plainly_spoken() -> Generator[None]:
    """Have warnings, log lines and the account of a fault of ours cleaned as well."""
    last_resort, hook = logging.lastResort, sys.excepthook
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        logging.lastResort, sys.excepthook = _Lines(logging.WARNING), _tell_fault
        try:
            yield
        finally:
            logging.lastResort = last_resort
    sys.excepthook = hook  # not after a fault: it is told when all of this has ended


class _Lines(logging.Handler):
    """Prints each record of the log on one line."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(record.getMessage())


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    complain(f"{filename}, line {lineno}: {category.__name__}: {message}")


def _tell_fault(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> Any:
    typer.echo(showable("".join(traceback.format_exception(kind, error, trace))), err=True)
