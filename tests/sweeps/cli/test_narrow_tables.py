"""On a narrow terminal no word of a table is broken: columns give way, and that is said."""

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.box import SIMPLE_HEAD, Box
from rich.console import Console

from sweeps.aggregation.rendering.fitted_table import FittedColumn, FittedTable, from_the_right
from sweeps.aggregation.rendering.table import Cell, Column, Needed, Table
from sweeps.aggregation.rendering.terminal import to_rich
from tests.golden.stores.archive import unpack
from tests.sweeps.cli.shell import Shell

STORES = Path(__file__).parents[2] / "golden" / "stores"
ROWS = [
    ["no reconstruction", "158,592", "0.56 ± 0.03", "45ec92ba414fbbc88689 (seed 0)"],
    ["cross-entropy loss", "1,158,592", "10.56 ± 0.13", "da2bbc763466343b3efc (seed 12)"],
]
WORDS = {word for row in ROWS for cell in row for word in cell.split()}
NUMBERS = {row[2] for row in ROWS}


def table(*orders: int | None, box: Box | None = None, elsewhere: str = "") -> FittedTable:
    titles = ("arm", "parameters", "validation error %", "best trial")
    columns = [
        FittedColumn(title, "right" if title[0] in "pv" else "left", order)
        for title, order in zip(titles, orders or (None,) * 4, strict=True)
    ]
    fitted = FittedTable(columns, box=box, elsewhere=elsewhere)
    for row in ROWS:
        fitted.add_row(*row)
    return fitted


def lines(fitted: FittedTable, width: int) -> list[str]:
    out = StringIO()
    Console(file=out, width=width, color_system=None).print(fitted)
    return out.getvalue().splitlines()


def on_one_line(printed: list[str]) -> str:
    return " ".join(" ".join(printed).split())


@pytest.mark.parametrize("box", [None, SIMPLE_HEAD])
@pytest.mark.parametrize("width", range(30, 120, 5))
def test_no_word_and_no_number_is_broken_at_any_width(width: int, box: Box | None) -> None:
    printed = lines(table(None, 1, None, 2, box=box, elsewhere="--json"), width)
    assert max(map(len, printed)) <= width
    text = on_one_line(printed)
    left_out = re.findall("parameters|best trial", text.partition("Left out at this width")[2])
    places = {"parameters": 1, "best trial": 3}
    gone = {word for name in left_out for row in ROWS for word in row[places[name]].split()}
    assert set(text.split()) >= WORDS - gone
    assert all(number in text for number in NUMBERS)


def test_columns_give_way_in_the_order_that_is_stated() -> None:
    fitted = table(None, 1, None, 2, elsewhere="--json")
    assert not any("Left out" in line for line in lines(fitted, 80))
    printed = [on_one_line(lines(fitted, width)) for width in (60, 45)]
    assert printed[0].endswith(
        "Left out at this width: parameters. --json or a wider terminal shows it."
    )
    assert printed[1].endswith("parameters, best trial. --json or a wider terminal shows them.")
    swapped = on_one_line(lines(table(None, 2, None, 1), 60))
    assert swapped.endswith("Left out at this width: best trial. A wider terminal shows it.")


def test_cells_take_more_lines_before_a_column_goes() -> None:
    printed = lines(table(None, 1, None, 2), 70)
    assert not any("Left out" in line for line in printed)
    assert any(line.startswith("no reconstruction") for line in lines(table(), 90))
    assert len(printed) > len(lines(table(), 90)) == 3


def test_without_room_for_what_stays_each_row_becomes_lines() -> None:
    printed = lines(table(), 45)
    assert printed[:5] == [
        "arm: no reconstruction",
        "parameters: 158,592",
        "validation error %: 0.56 ± 0.03",
        "best trial: 45ec92ba414fbbc88689 (seed 0)",
        "",
    ]


def test_a_table_of_a_report_loses_its_rarer_columns_first_and_never_the_first_two() -> None:
    assert from_the_right(["a", "b", "c", "d", "e"]) == [None, None, 3, 2, 1]
    assert from_the_right(["a", "b", "c", "d", "e"], [1, 2]) == [None, None, 1, 3, 2]
    assert from_the_right(["a", "b", "c", "d", "e"], [4], [3, 4]) == [None, None, 1, 2, 3]


@pytest.mark.parametrize("width", [80, 100])
def test_a_confirmation_keeps_its_verdict_before_its_settings(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    unpack(STORES / "finished_search.tar.xz", shell.folder)
    monkeypatch.setenv("COLUMNS", str(width))
    printed = shell("report", "small_search").out
    heading = next(line for line in printed.splitlines() if line.startswith(" Rank"))
    assert heading.split()[-2:] == ["Difference", "Verdict"]


NAME = "capsules trained on shifted digits"
SHIFTS = [f"shift {pixels} pixels" for pixels in range(5)]
OF_SHIFTS = Table(
    name="evaluations-shifted_test_error",
    title="Evaluation",
    columns=(
        Column("Arm", ("arm",), align="left"),
        Column("Mean error over shift (%)", ("mean",)),
        Column("Difference", ("difference",), is_answer=True),
        Column("Verdict", ("verdict",), align="left", is_answer=True),
        Column("From clean", ("clean",)),
        *(Column(shift, (shift,)) for shift in SHIFTS),
        Column("Parameters", ("num_parameters",)),
        Column("Multiply-adds", ("num_multiply_adds",), hide_if_empty=True),
    ),
    rows=(
        tuple(
            Cell(text, (None,))
            for text in (
                *(NAME, "10.56 ± 0.13", "+1.56 ± 0.13", "undecided", "+4.56", *["10.56"] * 5),
                *("1,158,592", "10,158,592"),
            )
        ),
    ),
)


@pytest.mark.parametrize(
    ("width", "gone"),
    [
        (140, ["Multiply-adds", "Parameters"]),
        (100, ["Multiply-adds", "Parameters", *SHIFTS[1:]]),
        (80, ["Multiply-adds", "Parameters", *SHIFTS, "From clean"]),
    ],
)
def test_the_name_of_an_arm_stays_whole_as_long_as_a_less_needed_column_can_go(
    width: int, gone: list[str]
) -> None:
    out = StringIO()
    Console(file=out, width=width, color_system=None).print(to_rich(OF_SHIFTS))
    printed = out.getvalue()
    assert NAME in printed
    table, _, left_out = printed.partition("Left out at this width: ")
    names, _, _ = " ".join(left_out.split()).partition(".")
    assert sorted(names.split(", ")) == sorted(gone)
    assert "undecided" in table


def test_a_name_is_broken_before_the_answer_and_the_error_go() -> None:
    out = StringIO()
    Console(file=out, width=60, color_system=None).print(to_rich(OF_SHIFTS))
    printed = out.getvalue().split()
    assert NAME not in out.getvalue()
    assert {"undecided", "10.56", "+1.56", *NAME.split()} <= {*printed}


COMMANDS = {
    "finished_design": [
        ["status"],
        ["status", "small_design"],
        ["best", "small_design"],
        ["report", "small_design"],
        ["plan", "quickstart"],
        ["list"],
    ],
    "finished_search": [
        ["status", "small_search"],
        ["best", "small_search"],
        ["report", "small_search"],
        ["plan", "quickstart_search"],
    ],
}


@pytest.mark.parametrize("store", COMMANDS)
def test_no_command_breaks_a_word(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    unpack(STORES / f"{store}.tar.xz", shell.folder)
    commands = list(COMMANDS[store])
    monkeypatch.setenv("COLUMNS", "400")
    ranked = shell("best", store.replace("finished", "small")).out
    key = re.findall(r"\b[0-9a-f]{20}\b", ranked)[0]
    commands += [["show", key], ["diff", key, re.findall(r"\b[0-9a-f]{20}\b", ranked)[1]]]
    for arguments in commands:
        monkeypatch.setenv("COLUMNS", "400")
        known = {*shell(*arguments).out.split()}
        for width in (80, 60):
            monkeypatch.setenv("COLUMNS", str(width))
            answer = shell(*arguments)
            assert answer.code == 0, answer.err
            body = re.sub(r"(?s)Left out at this width:.*?shows\s+(it|them)\.", "", answer.out)
            broken = {word for word in body.split() if word not in known and {*word} != {"─"}}
            assert not broken, (arguments, width, broken)


def test_the_note_of_a_mark_is_shown_however_many_stand_before_it() -> None:
    notes = (*(f"note {n}" for n in range(1, 8)), Needed("‡ the interval of this arm alone"))
    out = StringIO()
    Console(file=out, width=100, color_system=None).print(to_rich(replace(OF_SHIFTS, notes=notes)))
    assert "(6) ‡ the interval of this arm alone" in out.getvalue()
    assert "(7) 2 more notes" in out.getvalue()
