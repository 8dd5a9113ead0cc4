"""Formats of tables and figures: which renderer makes which file of a report."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

from sweeps.aggregation.rendering.contents import Figure, Report, Section
from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.latex import to_latex, to_latex_fragment
from sweeps.aggregation.rendering.markdown import to_markdown
from sweeps.aggregation.rendering.page.html_page import RUNS_PAGE, results_page, runs_page
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.rendering.terminal import to_rich

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class TableRenderer:
    """A format of tables.

    Attributes:
        ending: Ending of its files, without the dot.
        render: Turns a table into a file's content.
        reader: Who reads it: programs get other rows where a table has such, and the data that
            people do not see.
        suffix: Suffix of its files' names, where another format has the same ending.
        signature: First line of its files, with {table} and {sweep} in it; "" where they have none.
    """

    ending: str
    render: Callable[[Table], bytes]
    reader: Literal["people", "programs"] = "people"
    suffix: str = ""
    signature: str = ""

    def file_name(self, table: Table) -> str:
        """Return the file name of a table."""
        return f"{table.name}{self.suffix}.{self.ending}"


@dataclass(frozen=True)
class FigureRenderer:
    """A format of figures."""

    ending: str
    render: Callable[[Figure], bytes]


@dataclass(frozen=True)
class ReportRenderer:
    """A format of a whole report.

    Attributes:
        ending: Ending of its file, without the dot.
        render: Turns a report into the file's content.
        name: Name of the file.
    """

    ending: str
    render: Callable[[Report], bytes]
    name: str = "report"


@dataclass(frozen=True)
class TerminalRenderer:
    """How tables look in a terminal, which is no file: its width and colours are the console's.

    Attributes:
        render: Also told what shows that for which a narrow terminal has no room.
    """

    render: Callable[[Table, str], "RenderableType"]


FRAGMENT = "-table"
"""The ending of a LaTeX file that holds only a table."""

FRAGMENT_SIGNATURE = "% Table {table} of sweep {sweep}, written by capsweep report."
"""The first words of such a file, by which `verify` recognises it in a paper."""

FIGURE_OF_PAPER = FigureRenderer("pdf", lambda figure: figure.image("pdf"))
"""Figures as LaTeX includes them."""

Renderer = TableRenderer | FigureRenderer | ReportRenderer | TerminalRenderer
RENDERERS: Mapping[str, Renderer] = {
    "markdown": TableRenderer("md", lambda table: to_markdown(table).encode()),
    "csv": TableRenderer("csv", lambda table: to_csv(table).encode(), reader="programs"),
    "latex": TableRenderer("tex", lambda table: to_latex(table).encode()),
    "latex-table": TableRenderer(
        "tex",
        lambda table: to_latex_fragment(table).encode(),
        suffix=FRAGMENT,
        signature=FRAGMENT_SIGNATURE,
    ),
    "terminal": TerminalRenderer(to_rich),
    "png": FigureRenderer("png", lambda figure: figure.image("png")),
    "svg": FigureRenderer("svg", lambda figure: figure.image("svg")),
    "html": ReportRenderer("html", results_page),
    "html of runs": ReportRenderer("html", runs_page, name=RUNS_PAGE),
}


def render(
    report: Report, renderers: Mapping[str, Renderer] = RENDERERS
) -> Iterator[tuple[str, bytes]]:
    """Yield every file of a report: its name and its content.

    Args:
        report: The report.
        renderers: Name of a format -> its renderer. A file comes of each in this order.
    """
    for section in report.all_sections():
        yield from section_files(section, renderers, report.provenance.sweep)
    for text in report.texts:
        yield text.name, text.content.encode()
    for renderer in renderers.values():
        if isinstance(renderer, ReportRenderer):
            yield f"{renderer.name}.{renderer.ending}", renderer.render(report)


def for_terminal(
    tables: Iterable[Table],
    renderers: Mapping[str, Renderer] = RENDERERS,
    elsewhere: str = "",
) -> "Iterator[RenderableType]":
    """Yield what a rich console prints of tables.

    Args:
        tables: Tables of a report, or values.
        renderers: As in `render`.
        elsewhere: What shows columns that a narrow terminal has no room for; "" for their files.
    """
    looks = [renderer for renderer in renderers.values() if isinstance(renderer, TerminalRenderer)]
    for table, renderer in product(tables, looks):
        yield renderer.render(table, elsewhere)


def section_files(
    section: Section, renderers: Mapping[str, Renderer] = RENDERERS, sweep: str = ""
) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a section: those of its tables, of its data, of its figures.

    Args:
        section: A section of a report.
        renderers: As in `render`.
        sweep: The report's.
    """
    of_tables = [
        renderer
        for name, renderer in renderers.items()
        if isinstance(renderer, TableRenderer) and name in (section.formats or renderers)
    ]
    for_programs = [renderer for renderer in of_tables if renderer.reader == "programs"]
    for table in section.tables:
        for renderer in of_tables:
            read = (renderer in for_programs and table.for_programs) or table
            head = renderer.signature.format(table=table.name, sweep=sweep)
            content = renderer.render(read)
            yield renderer.file_name(table), f"{head}\n".encode() + content if head else content
    for table, renderer in product(section.data, for_programs):
        yield renderer.file_name(table), renderer.render(table)
    of_figures = [
        renderer for renderer in renderers.values() if isinstance(renderer, FigureRenderer)
    ]
    for renderer, figure in product(of_figures, section.figures):
        yield f"{figure.name}.{renderer.ending}", renderer.render(figure)
