"""The tables that a sweep is for are values that fit together."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from search_spaces import (
    AblationTable,
    ConfirmationTable,
    CurvesFigure,
    PublishedRow,
    PublishedTable,
    SensitivityTable,
)
from search_spaces.tables import Table
from sweeps.manifest import ManifestTable

ROW = PublishedRow(labels=("CapsNet", "3"), arm="base", published=0.25, spread=0.005)
TABLES = (
    AblationTable(),
    SensitivityTable(),
    ConfirmationTable(),
    CurvesFigure(metric="train_loss"),
    PublishedTable(name="table1", title="Table 1", headings=("Method", "Routing"), rows=(ROW,)),
)


def test_tables_are_told_apart_by_their_kind_and_survive_json() -> None:
    adapter = TypeAdapter[tuple[Table, ...]](tuple[Table, ...])
    assert adapter.validate_json(json.dumps([one.model_dump() for one in TABLES])) == TABLES


def test_a_row_has_a_label_for_each_heading() -> None:
    with pytest.raises(ValidationError, match=r"2 labels \(CapsNet, 3\) for 1 headings \(Method\)"):
        PublishedTable(name="table1", title="Table 1", headings=("Method",), rows=(ROW,))


@pytest.mark.parametrize("name", ["", "A", "../x", "a b"])
def test_a_table_is_called_as_a_file_can_be(name: str) -> None:
    with pytest.raises(ValidationError, match="pattern"):
        AblationTable(name=name)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.kind)
def test_a_manifest_holds_each_table_as_it_is(table: Any) -> None:
    adapter = TypeAdapter[Any](ManifestTable)
    assert adapter.validate_python(table.model_dump()).model_dump() == table.model_dump()
