"""The two HTML pages of a report: results, which trial keys decide, and costs."""

import io
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain, count
from typing import TYPE_CHECKING, Any, cast
from xml.sax import handler, make_parser
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from sweeps.aggregation.rendering.contents import Figure, Report, Section
from sweeps.aggregation.rendering.table import Table, shown
from sweeps.records.plain_text import one_line

if TYPE_CHECKING:
    from jinja2 import Environment

_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_LEFT_OUT = ("metadata", "style", "title", "script")
_OF_THE_ROOT = ("width", "height", "version")  # how large it is drawn is the page's affair
RUNS_PAGE = "report-runs"


class _Inlined(XMLGenerator):
    def __init__(self, out: io.StringIO, prefix: str, label: str) -> None:
        super().__init__(out, encoding="utf-8", short_empty_elements=True)
        self._prefix = prefix
        self._label = label
        self._left_out = 0

    def startDocument(self) -> None:  # noqa: N802 - the name is the interface's
        """Write no XML declaration, as the drawing stands inside a page."""

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802
        """Write a tag with its ids prefixed, or skip a whole element."""
        if self._left_out or name in _LEFT_OUT:
            self._left_out += 1
            return
        svg_attributes = {str(key): str(attrs[key]) for key in attrs.getNames()}
        attributes = {
            key.removeprefix("xlink:"): self._renamed(key, value)
            for key, value in svg_attributes.items()
            if not key.startswith("xmlns")
        }
        super().startElement(
            name, AttributesImpl(self._of_root(attributes) if name == "svg" else attributes)
        )

    def endElement(self, name: str) -> None:  # noqa: N802
        """Write an end tag."""
        if self._left_out:
            self._left_out -= 1
            return
        super().endElement(name)

    def characters(self, content: str) -> None:
        """Write text, unless it is inside an element that is left out."""
        if not self._left_out:
            super().characters(content)

    def _renamed(self, key: str, value: str) -> str:
        if key == "id":
            return f"{self._prefix}{value}"
        if key.endswith("href"):
            if value.startswith("data:image/png;base64,"):  # pixels, which hold no program
                return value
            return f"#{self._prefix}{value.removeprefix('#')}" if value.startswith("#") else ""
        return _REFERENCE.sub(rf"url(#{self._prefix}\1)", value)

    def _of_root(self, attributes: Mapping[str, str]) -> dict[str, str]:
        others = {key: value for key, value in attributes.items() if key not in _OF_THE_ROOT}
        joins = {"stroke-linejoin": "round", "stroke-linecap": "butt"}
        return {**others, **joins, "role": "img", "aria-label": self._label}


class _Drawings:
    """The figures of one page, each with unique ids."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def drawing(self, figure: Figure, label: str) -> object:
        """Return the element of a figure."""
        from markupsafe import Markup

        svg = inline_drawing(figure.image("svg"), f"f{next(self._numbers)}-", one_line(label))
        return Markup(svg)  # of a writer of XML, which escapes


def results_page(report: Report) -> bytes:
    """Return the page of a report: the answer, tables, figures, how to read them, what they are of.

    It holds only what trial keys decide, fetches nothing and runs no script.
    """
    return _page(
        "report.html.jinja",
        report,
        chapters=[*report.sections, *report.background],
    )


def _page(template: str, report: Report, **more: Any) -> bytes:
    drawings = _Drawings()
    values = {"report": report, "provenance": report.provenance, "runs_page": f"{RUNS_PAGE}.html"}
    functions = {"title_of": _title, "shown": shown, "drawing": drawings.drawing}
    page = _environment().get_template(template).render(**values, **functions, **more)
    return page.encode()


def _title(section: Section) -> str:
    """Return a section's heading: its title, or that of its first table."""
    first: Iterator[Table] = chain(section.tables, section.data)
    return section.title or next((table.title for table in first if table.title), section.name)


@cache
def _environment() -> "Environment":
    """Return the template functions: each text on one line and escaped."""
    import jinja2  # here, so that other formats do not wait for it

    def text(value: object) -> object:
        is_markup = hasattr(value, "__html__")  # of ours
        return one_line(value) if isinstance(value, str) and not is_markup else value

    return jinja2.Environment(
        loader=jinja2.PackageLoader(__package__ or "", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=text,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def runs_page(report: Report) -> bytes:
    """Return the page of costs, machines, records and versions."""
    return _page("runs.html.jinja", report, chapters=[report.costs, report.runs])


def inline_drawing(svg: bytes, prefix: str, label: str) -> str:
    """Return a drawing's element for a page.

    Its ids get a prefix. What it says of itself, its declarations and its style, which would hold
    for the whole page, are left out, and so are comments, which repeat its texts.

    Args:
        svg: SVG text as matplotlib writes it.
        prefix: Prefix of every id, unique in the page.
        label: What a reader who does not see it is told.
    """
    text = io.StringIO()
    parser = make_parser()
    parser.setFeature(handler.feature_external_ges, False)
    parser.setContentHandler(cast(Any, _Inlined(text, prefix, label)))  # its types differ in names
    parser.parse(io.BytesIO(svg))
    return text.getvalue()
