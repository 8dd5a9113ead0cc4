"""A table beside published figures names its data in the first line."""

import csv
import io
from typing import Any

import pytest
from rich.console import Console

from search_spaces.tables import GridTable, PublishedTable
from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.latex import to_latex
from sweeps.aggregation.rendering.markdown import to_markdown
from sweeps.aggregation.rendering.renderers import for_terminal
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.tables.grid_table import grid_table
from sweeps.aggregation.tables.published_table import published_table
from sweeps.records.manifest import Manifest, ManifestArm
from tests.sweeps.aggregation.known_sweep import manifest_of

PART = {"kind": "viewpoints", "fraction": 0.1, "views": "azimuth"}
ROWS: list[dict[str, Any]] = [
    {"labels": ["a"], "arm": "a", "published": 1.0},
    {"labels": ["b"], "arm": "b", "published": 1.0},
]
STAND_IN = "Ours on viewpoints, published on smallNORB."
LINE = "Data: viewpoints, fraction 0.1; the published figures are of smallNORB."


def of(first: Any, second: Any, published: str = "", **more: Any) -> Table:
    spec = PublishedTable.model_validate(
        {"name": "t", "title": "T", "headings": ["Data"], "rows": ROWS, "published_data": published}
    )
    return published_table(manifest(first, second, **more), {}, spec)


def grid_of(data: Any, published: str) -> Table:
    cells = [{"arm": "a", "published": 1.0}, {"arm": "b"}]
    spec = GridTable.model_validate(
        {
            "name": "t",
            "title": "T",
            "columns": ["x", "y"],
            "rows": [{"label": "r", "cells": cells}],
            "published_data": published,
        }
    )
    return grid_table(manifest(data, data), {}, spec)[0]


def manifest(first: Any, second: Any, **more: Any) -> Manifest:
    configs = {"a": first, "b": second}
    arms = tuple(
        ManifestArm(name=name, config={} if data is None else {"data": data}, num_parameters=1)
        for name, data in configs.items()
    )
    return manifest_of(configs, **more).model_copy(update={"arms": arms})


@pytest.mark.parametrize("table", [of(PART, PART, "smallNORB"), grid_of(PART, "smallNORB")])
def test_the_line_under_the_title_names_our_data_and_the_published(table: Table) -> None:
    lines = to_markdown(table).splitlines()
    assert lines[0] == f"# {STAND_IN} T: ours beside the published"
    assert lines[2] == LINE
    assert f"published. {LINE[:-1]}}}" in to_latex(table)


def test_the_terminal_shows_it_before_the_table() -> None:
    out = Console(width=200, file=io.StringIO())
    with out.capture() as captured:
        out.print(*for_terminal([of(PART, PART, "smallNORB")]))
    assert captured.get().splitlines()[1].strip() == LINE


def test_departures_stand_in_a_paragraph_before_the_title() -> None:
    table = of(PART, PART, "smallNORB", departures={"data.fraction": (1.0, 0.1)})
    expected = (
        "The sweep was launched smaller than declared: data.fraction 0.1 instead of 1.0 (--set)."
    )
    title = f"{STAND_IN} T: ours beside the published"
    assert (table.warning, table.title) == (expected, title)
    assert to_markdown(table).startswith(f"{expected}\n\n# {title}\n")
    out = Console(width=200, file=io.StringIO())
    with out.capture() as captured:
        out.print(*for_terminal([table]))
    first, second, *_ = captured.get().splitlines()
    assert first.strip() == expected
    assert second.strip() == title


@pytest.mark.parametrize(
    ("first", "second", "published", "line"),
    [
        ({"kind": "mnist"}, {"kind": "mnist"}, "", "Data: mnist."),
        ({"kind": "mnist", "fraction": 1.0}, {"kind": "mnist"}, "MNIST", "Data: mnist."),
        ({"kind": "smallnorb"}, {"kind": "smallnorb"}, "small-NORB", "Data: smallnorb."),
        (
            {"kind": "viewpoints"},
            {"kind": "smallnorb"},
            "smallNORB",
            "Data: viewpoints (a); smallnorb (b); the published figures are of smallNORB.",
        ),
        ({"kind": "mnist"}, None, "", "Data: mnist."),
        (None, None, "smallNORB", ""),
        ("no part", ["neither"], "smallNORB", ""),
    ],
)
def test_data_are_told_in_one_sentence(first: Any, second: Any, published: str, line: str) -> None:
    assert of(first, second, published).lead == line


def test_equal_data_leave_the_title_as_it_is() -> None:
    assert of({"kind": "mnist"}, {"kind": "mnist"}, "MNIST").title == "T: ours beside the published"


def test_programs_read_of_it_in_a_column_of_its_own() -> None:
    (first, _) = csv.DictReader(io.StringIO(to_csv(of(PART, PART, "smallNORB"))))
    assert first["data"] == LINE
    assert first["label_1"] == "a", "a heading of that name gives way"


def test_an_unkind_name_acts_on_no_output() -> None:
    table = of({"kind": "x\n# y"}, {"kind": "x\n# y"}, "<b>\n")
    assert "\n" not in table.lead
    assert "<b>" not in to_markdown(table)
