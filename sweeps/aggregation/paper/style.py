"""A report's parts for a paper: macros, checklist, and a table in a paper's style."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args

from capsmodel.spelling import unknown
from sweeps.aggregation.paper.checklist import checklist
from sweeps.aggregation.paper.macros import STYLE_NAME, style_file, values_file, values_name
from sweeps.aggregation.paper.numbers import numbers_of
from sweeps.aggregation.rendering.contents import Section, TextFile
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.results.compared_arms import compared_arms
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.paper_table import paper_table
from sweeps.records.errors import BadInput

Style = Literal["default", "paper"]
_FRAGMENT = "latex-table"
_FORMATS = ("markdown", "latex", _FRAGMENT)
_TABLE = "ablation-paper"


def paper_texts(results: Results, sections: Sequence[Section]) -> tuple[TextFile, ...]:
    """Return the macros of a sweep's numbers and of its tables' notes, and its checklist."""
    arms, sweep = compared_arms(results), results.manifest.sweep
    return (
        TextFile(STYLE_NAME, style_file()),
        TextFile(values_name(sweep), values_file(sweep, numbers_of(arms), paper_tables(sections))),
        TextFile("checklist.md", checklist(results, arms)),
    )


def paper_tables(sections: Sequence[Section]) -> Iterator[Table]:
    """Yield the tables that a paper can input."""
    for section in sections:
        if not section.formats or _FRAGMENT in section.formats:
            yield from section.tables


def style_of(folder: Path, style: Style | None) -> Style:
    """Return the given style, else that of the report in the sweep's folder.

    So a report stays in its style when it is made anew, and no file of a style is left behind.
    """
    if style is not None:
        return style
    return "paper" if (folder / f"{_TABLE}.md").is_file() else "default"


def why_not_in_style(sections: tuple[Section, ...], style: Style) -> tuple[str, ...]:
    """Return a sentence where the given style adds nothing."""
    if style == "default" or sections:
        return ()
    why = "The search has run no arm again on fresh seeds, so that a paper has no figure of it."
    return (why,)


def paper_sections(results: Results, style: Style) -> tuple[Section, ...]:
    """Return the sections that a style adds to a report, none by default.

    A search that has run no arm again on fresh seeds has none: no test figure of it is sound.

    Raises:
        BadInput: If there is no such style.
    """
    if style not in get_args(Style):
        raise BadInput(unknown("style", style, get_args(Style)))
    if style == "default":
        return ()
    arms = compared_arms(results)
    if not arms.arms:
        return ()
    table = paper_table(results.manifest, arms)
    return (Section(_TABLE, "paper", tables=(table,), formats=_FORMATS),)
