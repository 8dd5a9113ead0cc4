"""The one way to the terminal: everything printed passes here, without its escape sequences.

Names, reasons and configs come from records, sweep files and arguments. Their escape sequences
could hide or forge what a reader sees. Callers print any text as it is.
"""

import logging
import os
import sys
import time
import traceback
import warnings
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment

from sweeps.records.plain_text import one_line, showable
from sweeps.records.suggested_command import Advice

if TYPE_CHECKING:
    from sweeps.aggregation.rendering.fitted_table import FittedTable
    from sweeps.aggregation.report import Report


class PlainConsole(Console):
    """A console that prints its own colours, and no control characters of the texts."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield what is to be printed, each text cleaned."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else showable(text), style, control)


def console() -> Console:
    """Return the console for results: as wide as the terminal, wide where there is none."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 140
    return PlainConsole(width=width, highlight=False, emoji=False)


def table_of(
    *headings: str, numbers: int = 0, giving: Sequence[str] = (), elsewhere: str = "--json"
) -> "FittedTable":
    """Return an empty table whose last columns hold numbers.

    Args:
        headings: Headings of its columns.
        numbers: How many of the last columns hold numbers.
        giving: Headings of the columns that a narrow terminal leaves out, the first one first.
        elsewhere: What shows those too.
    """
    from sweeps.aggregation.rendering.fitted_table import FittedColumn, FittedTable

    columns = [
        FittedColumn(
            heading,
            "right" if index >= len(headings) - numbers else "left",
            giving.index(heading) + 1 if heading in giving else None,
        )
        for index, heading in enumerate(headings)
    ]
    return FittedTable(columns, elsewhere=elsewhere)


def plain(text: str) -> str:
    """Return a text on one line, without control characters, and without markup for rich."""
    return escape(one_line(text))


def say(sentence: str) -> None:
    """Print a sentence to standard output, cleaned and without line breaks of ours."""
    console().print(plain(sentence), soft_wrap=True)


def print_tables(report: "Report") -> None:
    """Print the tables that a terminal shows, with their notes."""
    from sweeps.aggregation.rendering.renderers import for_terminal

    out = console()
    for part in for_terminal(report.shown):
        out.print(part)
    for sentence in (*report.mixtures, *report.left_out):
        out.print(plain(sentence.here if isinstance(sentence, Advice) else sentence))


def print_place(report: "Report") -> None:
    """Print where the whole report is."""
    page = next((path for path in report.paths if path.name == "report.html"), None)
    if page:
        say(f"Report: {page} ({len(report.paths) - 1} more files in its folder)")


def complain(sentence: str) -> None:
    """Print one sentence on one line to standard error."""
    typer.echo(f"capsweep: {one_line(sentence)}", err=True)


@contextmanager
def clean_messages() -> Generator[None]:
    """Clean warnings, log lines and the traceback of an internal error as well."""
    last_resort, hook = logging.lastResort, sys.excepthook
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        logging.lastResort, sys.excepthook = _LineHandler(logging.WARNING), _print_traceback
        try:
            yield
        finally:
            logging.lastResort = last_resort
    sys.excepthook = hook  # after an error it stays: it prints when all of this has ended


_MINUTE = 60.0


class _LineHandler(logging.Handler):
    """Prints each record of the log on one line, and the same one once a minute."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._printed: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        sentence, now = record.getMessage(), time.monotonic()
        recent = {said: at for said, at in self._printed.items() if now - at < _MINUTE}
        if sentence not in recent:
            recent[sentence] = now
            complain(sentence)
        self._printed = recent


def _warn(  # noqa: PLR0917 - the signature of warnings.showwarning
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    complain(f"{filename}, line {lineno}: {category.__name__}: {message}")


def _print_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> Any:
    typer.echo(showable("".join(traceback.format_exception(kind, error, trace))), err=True)
