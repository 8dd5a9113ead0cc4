"""The two pages of a report: what trial keys decide, and apart from it what the trials took."""

from collections.abc import Iterator
from functools import cache
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from sweeps.aggregation.rendering.contents import Figure, Report, Section
from sweeps.aggregation.rendering.page.inline_drawing import inline_drawing
from sweeps.aggregation.rendering.table import Table, shown
from sweeps.records.plain_text import one_line

if TYPE_CHECKING:
    from jinja2 import Environment

RUNS_PAGE = "report-runs"


def results_page(report: Report) -> bytes:
    """Return the page of a report: the answer, tables, figures, how to read them, what they are of.

    It holds only what trial keys decide, fetches nothing and runs no script.
    """
    lead = next((table.lead for table in (*report.tables, *report.shown) if table.lead), "")
    return _page(
        "report.html.jinja",
        report,
        answer=lead or report.provenance.description or "There is no table with an answer in it.",
        chapters=[*report.sections, *report.background],
    )


def runs_page(report: Report) -> bytes:
    """Return the page of what trial keys do not decide: costs, machines, records, versions."""
    return _page("runs.html.jinja", report, chapters=[report.costs, report.runs])


def _page(template: str, report: Report, **more: Any) -> bytes:
    drawings = _Drawings()
    told = {"report": report, "provenance": report.provenance, "runs_page": f"{RUNS_PAGE}.html"}
    functions = {"title_of": _title, "shown": shown, "drawing": drawings.drawing}
    page = _environment().get_template(template).render(**told, **functions, **more)
    return page.encode()


@cache
def _environment() -> "Environment":
    """Return what fills templates: every text in one line, and none of it taken for markup."""
    import jinja2  # here, so that other formats do not wait for it

    def text(value: object) -> object:
        return one_line(value) if type(value) is str else value  # markup of ours is another type

    return jinja2.Environment(
        loader=jinja2.PackageLoader(__package__ or "", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=text,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _title(section: Section) -> str:
    """Return what stands over a section: its title, or that of its first table."""
    first: Iterator[Table] = chain(section.tables, section.data)
    return section.title or next((table.title for table in first if table.title), section.name)


class _Drawings:
    """Figures of one page, each with ids of its own."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def drawing(self, figure: Figure, label: str) -> object:
        """Return the element of a figure."""
        from markupsafe import Markup

        svg = inline_drawing(figure.svg, f"f{next(self._numbers)}-", one_line(label))
        return Markup(svg)  # of a writer of XML, which escapes
