"""The tables that a sweep is for are values that fit together."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from capsmodel import TrainingConfig
from search_spaces import (
    AblationTable,
    ConfirmationTable,
    CurvesFigure,
    GridCell,
    GridRow,
    GridTable,
    ListedArms,
    PublishedRow,
    PublishedTable,
    SensitivityTable,
    Sweep,
)
from search_spaces.sweep_file import sweep_from_file
from search_spaces.tables import Table

ROW = PublishedRow(labels=("CapsNet", "3"), arm="base", published=0.25, spread=0.005)
GRID_ROW = GridRow(
    label="Familiar",
    cells=(GridCell(arm="base", metric="test_error.familiar", published=3.7), GridCell(arm=None)),
)
TABLES = (
    AblationTable(),
    SensitivityTable(),
    ConfirmationTable(),
    CurvesFigure(metric="train_loss"),
    PublishedTable(
        name="table1",
        title="Table 1",
        headings=("Method", "Routing"),
        rows=(ROW,),
        published_data="smallNORB",
    ),
    GridTable(name="table2", title="Table 2", columns=("CNN", "Capsules"), rows=(GRID_ROW,)),
)


def test_tables_are_told_apart_by_their_kind_and_survive_json() -> None:
    adapter = TypeAdapter[tuple[Table, ...]](tuple[Table, ...])
    assert adapter.validate_json(json.dumps([table.model_dump() for table in TABLES])) == TABLES


def test_a_row_has_a_label_for_each_heading() -> None:
    with pytest.raises(ValueError, match=r"2 labels \(CapsNet, 3\) for 1 headings \(Method\)"):
        PublishedTable(name="table1", title="Table 1", headings=("Method",), rows=(ROW,))


def grid(**changes: Any) -> GridTable:
    known: dict[str, Any] = {"name": "table2", "title": "Table 2", "rows": (GRID_ROW,)}
    return GridTable(**(known | {"columns": ("CNN", "Capsules")} | changes))


def test_a_row_of_a_grid_has_a_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match=r"'Familiar' of 'table2' has 2 cells for 1 columns"):
        grid(columns=("CNN",))


def test_rows_and_columns_of_a_grid_are_told_apart() -> None:
    with pytest.raises(ValueError, match="Two columns of 'table2' are called 'CNN'"):
        grid(columns=("CNN", "CNN"))
    with pytest.raises(ValueError, match="Two rows of 'table2' are called 'Familiar'"):
        grid(rows=(GRID_ROW, GRID_ROW))


@pytest.mark.parametrize(
    "metric", ["error", "test_error.", "test_error.A b", "test_error\n", "train_loss"]
)
def test_a_cell_of_a_grid_is_an_error_that_a_record_holds(metric: str) -> None:
    with pytest.raises(ValueError, match="must be test_error, test_error"):
        GridCell(arm="base", metric=metric)


@pytest.mark.parametrize(
    ("table", "arms"),
    [(TABLES[0], ()), (TABLES[4], ("base",)), (TABLES[5], ("base",))],
)
def test_a_table_names_the_arms_it_needs(table: Any, arms: tuple[str, ...]) -> None:
    assert table.arms == arms


@pytest.mark.parametrize("name", ["", "A", "../x", "a b"])
def test_a_table_is_called_as_a_file_can_be(name: str) -> None:
    with pytest.raises(ValueError, match="must be a text of up to 64 small letters"):
        AblationTable(name=name)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.kind)
def test_a_manifest_holds_each_table_as_it_is(table: Any) -> None:
    adapter = TypeAdapter[Any](Table)
    assert adapter.validate_python(table.model_dump()).model_dump() == table.model_dump()


def test_a_grid_of_an_arm_that_the_sweep_does_not_have_is_refused() -> None:
    plan = ListedArms(baseline="bass", arms={"bass": {}})
    with pytest.raises(ValueError, match="Unknown arm in the table 'table2' 'base'"):
        Sweep(name="example", base=TrainingConfig(), plan=plan, seeds=(0,), tables=(grid(),))


def own_file(tmp_path: Path, statement: str) -> Path:
    path = tmp_path / "own.py"
    path.write_text(f"from search_spaces.tables import *\n{statement}\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        (
            "AblationTable(name='A b')",
            "name must be a text of up to 64 small letters, digits, _ and - that begins with a "
            "letter or a digit, got 'A b'.",
        ),
        (
            "AblationTable(nam='x')",
            "Unknown setting 'nam' of AblationTable. Did you mean 'name'? Known: name, all_pairs.",
        ),
        (
            "CurvesFigure(metric=3)",
            "metric must be a text of up to 200 letters, digits, _, . and - that begins with a "
            "small letter, got 3.",
        ),
        ("PublishedTable(name='t')", "title is missing: it must be a text. (And 2 more.)"),
        (
            "PublishedTable(name='t', title='T', headings=('a',), "
            "rows=({'labels': ('x',), 'arm': None, 'published': float('nan')},))",
            "rows: Input should be a finite number.",
        ),
    ],
)
def test_a_table_that_cannot_be_is_one_sentence(
    tmp_path: Path, statement: str, sentence: str
) -> None:
    with pytest.raises(ValueError, match="cannot be run") as caught:
        sweep_from_file(own_file(tmp_path, statement))
    text = sentence.rstrip(".")
    assert str(caught.value).endswith(f"cannot be run: {text} (line 2).")
