"""A paper's table of two factors: its own shape, ours beside the published figures."""

import csv
import io
from typing import Any

import pytest
from pydantic import ValidationError

from search_spaces.tables import GridTable
from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.latex import to_latex
from sweeps.aggregation.rendering.markdown import to_markdown
from sweeps.aggregation.rendering.renderers import section_files
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.grid_table import grid_table
from sweeps.aggregation.tables.kinds import make
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome, TrialRecord
from tests.sweeps.aggregation.known_sweep import by_key, finished, manifest_of, unfinished

COLUMNS = ["Azimuth CNN", "Azimuth capsules"]
ROWS: list[dict[str, Any]] = [
    {
        "label": "Novel viewpoints",
        "cells": [
            {"arm": "cnn", "published": 20.0},
            {"arm": "capsules", "published": 13.5, "spread": 0.25},
        ],
    },
    {
        "label": "Familiar viewpoints",
        "cells": [
            {"arm": "cnn", "metric": "test_error.familiar", "published": 3.7},
            {"arm": "capsules", "metric": "test_error.familiar", "published": 3.7},
        ],
    },
]


def spec_of(rows: list[dict[str, Any]] = ROWS, **more: Any) -> GridTable:
    content: dict[str, Any] = {
        "name": "table2",
        "title": "Table 2 of a paper",
        "heading": "Test set",
        "columns": COLUMNS,
        "rows": rows,
        "notes": ["The paper stops by the test images."],
    }
    return GridTable.model_validate(content | more)


def known() -> tuple[Manifest, dict[str, TrialRecord]]:
    manifest = manifest_of(["cnn", "capsules"])
    wrong = {"cnn": (72, 72, 75), "capsules": (36, 36)}
    trials = [
        finished(arm, seed, n, extra_test_errors={"familiar": n / 3600})
        for arm, row in wrong.items()
        for seed, n in enumerate(row)
    ]
    return manifest, by_key(*trials, unfinished("capsules", 2, Outcome.DIVERGED, "nan"))


def grid(spec: GridTable | None = None) -> Table:
    return grid_table(*known(), spec or spec_of())[0]


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def places(spec: GridTable | None = None) -> list[dict[str, str]]:
    content = to_csv(grid_table(*known(), spec or spec_of())[1])
    return list(csv.DictReader(io.StringIO(content)))


def test_it_has_the_papers_shape_once_with_ours_and_once_with_the_published() -> None:
    assert [column.title for column in grid().columns] == [
        "Test set",
        "",
        "Azimuth CNN (%)",
        "Azimuth capsules (%)",
    ]
    assert texts(grid()) == [
        ["Novel viewpoints", "ours", "20.28 (0.48)", "10.00 (0.00) (n = 2 of 3)"],
        ["", "published", "20.00", "13.50 ± 0.25"],
        ["Familiar viewpoints", "ours", "2.03 (0.05)", "1.00 (0.00) (n = 2 of 3)"],
        ["", "published", "3.70", "3.70"],
    ]


def test_a_row_without_published_figures_stands_alone() -> None:
    rows = [{"label": "Ours", "cells": [{"arm": "cnn"}, {"arm": "capsules"}]}]
    assert [row[:2] for row in texts(grid(spec_of(rows)))] == [["Ours", "ours"]]


def test_a_place_may_hold_the_validation_error() -> None:
    cells = [{"arm": "cnn", "metric": "validation_error"}, {"arm": None, "published": 1.0}]
    table = grid(spec_of([{"label": "x", "cells": cells}]))
    assert texts(table)[0] == ["x", "ours", "12.17 (0.29)", ""]
    assert "x, Azimuth CNN: validation error." in table.notes
    assert any("this sweep has no arm" in note for note in table.notes)


def test_readers_are_told_which_error_a_row_holds() -> None:
    notes = grid().notes
    assert "Novel viewpoints: error on the test images." in notes
    assert "Familiar viewpoints: error on the extra test images 'familiar'." in notes
    assert "n is 3 unless a figure says otherwise." in notes
    assert "The paper stops by the test images." in notes


def test_cells_that_do_not_count_are_shown_with_their_reason() -> None:
    rows = [{"label": "x", "cells": [{"arm": "cnn"}, {"arm": "capsules"}]}]
    manifest, records = known()
    remaining = {key: record for key, record in records.items() if record.arm == "cnn"}
    table = grid_table(manifest, remaining, spec_of(rows))[0]
    assert texts(table)[0][3] == "3 missing"
    assert "Arm capsules, seed 2: diverged: nan" in grid().notes


def test_an_extra_test_that_no_record_holds_is_named_with_those_that_are_there() -> None:
    cells = [{"arm": "cnn", "metric": "test_error.familar"}, {"arm": "cnn"}]
    table = grid(spec_of([{"label": "x", "cells": cells}]))
    assert texts(table)[0][2] == "not recorded"
    assert (
        "3 of 3 trials of cnn hold no error on the extra test images 'familar'. "
        "Known: test_error, test_error.familiar."
    ) in table.notes


def test_an_arm_that_the_sweep_does_not_have_is_named() -> None:
    cells = [{"arm": "cnn"}, {"arm": "other"}]
    table = grid(spec_of([{"label": "x", "cells": cells}]))
    assert "This sweep has no arm other: its places have no figure of ours." in table.notes


def test_a_target_that_was_missed_is_marked_in_the_figure() -> None:
    manifest, records = known()
    late = {key: record.model_copy(update={"target": "missed"}) for key, record in records.items()}
    seen, read = grid_table(manifest, late, spec_of())
    assert texts(seen)[0][2] == "20.28 (0.48) †"
    assert any("3 of 3 trials of cnn never reached" in note for note in seen.notes)
    assert read.rows[0][-1].values == (3,)


def test_programs_read_one_row_a_place() -> None:
    rows = places()
    assert len(rows) == 4
    last = rows[3]
    assert (last["row"], last["column"]) == ("Familiar viewpoints", "Azimuth capsules")
    assert (last["arm"], last["metric"]) == ("capsules", "test_error.familiar")
    assert (last["n"], last["num_planned"], last["num_diverged"]) == ("2", "3", "1")
    assert float(last["error_percent"]) == pytest.approx(1.0)
    assert (rows[1]["published_percent"], rows[1]["published_spread"]) == ("13.5", "0.25")


def test_nothing_is_ever_bold() -> None:
    assert not any(cell.is_bold for row in grid().rows for cell in row)


def test_a_row_that_is_not_whole_makes_no_manifest() -> None:
    with pytest.raises(ValidationError, match="1 cells for 2 columns"):
        spec_of([{"label": "x", "cells": [{"arm": "cnn"}]}])


def no_histories(*_: object) -> Any:
    raise AssertionError("a grid needs no curves")


def test_its_files_are_the_readers_grid_and_the_programs_rows() -> None:
    manifest, records = known()
    made = make(spec_of(), Results(manifest, records, no_histories))
    files = dict(section_files(made))
    assert sorted(files) == ["table2-table.tex", "table2.csv", "table2.md", "table2.tex"]
    assert files["table2.md"].decode() == to_markdown(made.tables[0])
    assert files["table2.tex"].decode() == to_latex(made.tables[0])
    assert files["table2.csv"].decode().startswith("row,column,arm,metric,error_percent,")
