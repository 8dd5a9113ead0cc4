"""Formats of tables and figures: which renderer makes which file of a report."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

from sweeps.aggregation.rendering.contents import Figure, Report, Section
from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.figure_style import drawn
from sweeps.aggregation.rendering.latex import to_latex
from sweeps.aggregation.rendering.markdown import to_markdown
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.rendering.terminal import to_rich

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class TableRenderer:
    """A format of tables.

    Attributes:
        ending: Of its files, without the dot.
        render: Turns a table into a file's content.
        reader: Who reads it: programs get other rows where a table has such, and the data that
            people do not see.
    """

    ending: str
    render: Callable[[Table], bytes]
    reader: Literal["people", "programs"] = "people"


@dataclass(frozen=True)
class FigureRenderer:
    """A format of figures."""

    ending: str
    render: Callable[[Figure], bytes]


@dataclass(frozen=True)
class ReportRenderer:
    """A format of a whole report, whose file is called `report`."""

    ending: str
    render: Callable[[Report], bytes]


@dataclass(frozen=True)
class TerminalRenderer:
    """How tables look in a terminal, which is no file: its width and colours are the console's."""

    render: Callable[[Table], "RenderableType"]


Renderer = TableRenderer | FigureRenderer | ReportRenderer | TerminalRenderer


RENDERERS: Mapping[str, Renderer] = {
    "markdown": TableRenderer("md", lambda table: to_markdown(table).encode()),
    "csv": TableRenderer("csv", lambda table: to_csv(table).encode(), reader="programs"),
    "latex": TableRenderer("tex", lambda table: to_latex(table).encode()),
    "terminal": TerminalRenderer(to_rich),
    "png": FigureRenderer("png", lambda figure: drawn(figure.draw, "png")),
    "svg": FigureRenderer("svg", lambda figure: drawn(figure.draw, "svg")),
}


def render(
    report: Report, renderers: Mapping[str, Renderer] = RENDERERS
) -> Iterator[tuple[str, bytes]]:
    """Yield every file of a report: its name and its content.

    Args:
        report: As it was made.
        renderers: Name of a format -> its renderer. A file comes of each in this order.
    """
    for section in report.all_sections():
        yield from section_files(section, renderers)
    for renderer in renderers.values():
        if isinstance(renderer, ReportRenderer):
            yield f"report.{renderer.ending}", renderer.render(report)


def for_terminal(
    tables: Iterable[Table], renderers: Mapping[str, Renderer] = RENDERERS
) -> "Iterator[RenderableType]":
    """Yield what a rich console prints of tables."""
    looks = [renderer for renderer in renderers.values() if isinstance(renderer, TerminalRenderer)]
    for table, renderer in product(tables, looks):
        yield renderer.render(table)


def section_files(
    section: Section, renderers: Mapping[str, Renderer] = RENDERERS
) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a section: those of its tables, of its data, of its figures."""
    of_tables = [
        renderer
        for name, renderer in renderers.items()
        if isinstance(renderer, TableRenderer) and name in (section.formats or renderers)
    ]
    for_programs = [renderer for renderer in of_tables if renderer.reader == "programs"]
    for table in section.tables:
        for renderer in of_tables:
            read = (renderer in for_programs and table.for_programs) or table
            yield f"{table.name}.{renderer.ending}", renderer.render(read)
    for table, renderer in product(section.data, for_programs):
        yield f"{table.name}.{renderer.ending}", renderer.render(table)
    of_figures = [
        renderer for renderer in renderers.values() if isinstance(renderer, FigureRenderer)
    ]
    for renderer, figure in product(of_figures, section.figures):
        yield f"{figure.name}.{renderer.ending}", renderer.render(figure)
