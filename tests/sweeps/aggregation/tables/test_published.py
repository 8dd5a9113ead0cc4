"""A paper's own table, with our figures beside the published ones, and what departs from it."""

import csv
import io
from typing import Any

import pytest
from pydantic import ValidationError

from search_spaces.tables import PublishedTable
from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.latex import to_latex
from sweeps.aggregation.rendering.markdown import to_markdown
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.departures import departure_sentence
from sweeps.aggregation.results.mean_errors import mean_of
from sweeps.aggregation.tables.ablation_table import ablation_table
from sweeps.aggregation.tables.published_table import published_table
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome, TrialRecord
from tests.sweeps.aggregation.known_sweep import by_key, finished, manifest_of, unfinished
from tests.sweeps.aggregation.predicted import predictions_of, trials_of

ROWS: list[dict[str, Any]] = [
    {"labels": ["Baseline", "-"], "arm": "cnn", "published": 0.39, "trust": "a single run"},
    {"labels": ["CapsNet", "1"], "arm": "one", "published": 0.34, "spread": 0.032},
    {"labels": ["CapsNet", "3"], "arm": "three", "published": 0.4, "spread": 0.1},
    {"labels": ["Other", "-"], "arm": None, "published": 0.21},
]


def spec_of(rows: list[dict[str, Any]] = ROWS, **more: Any) -> PublishedTable:
    content: dict[str, Any] = {
        "name": "table1",
        "title": "Table 1 of a paper",
        "headings": ["Method", "Routing"],
        "rows": rows,
        "spread": "standard deviation of 3 trials",
        "notes": ["The paper shifts its images."],
    }
    return PublishedTable.model_validate(content | more)


def known() -> tuple[Manifest, dict[str, TrialRecord]]:
    manifest = manifest_of(["cnn", "one", "three"])
    wrong = {"cnn": (6, 7, 8), "one": (5, 5, 6), "three": (4,)}
    trials = [finished(arm, seed, n) for arm, row in wrong.items() for seed, n in enumerate(row)]
    return manifest, by_key(*trials, unfinished("three", 1, Outcome.DIVERGED, "nan"))


def published(manifest: Manifest, records: dict[str, TrialRecord]) -> Table:
    return published_table(manifest, records, spec_of())


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_the_rows_and_headings_are_the_papers_own() -> None:
    table = published_table(*known(), spec_of())
    assert [column.title for column in table.columns[:2]] == ["Method", "Routing"]
    assert [row[:2] for row in texts(table)] == [row["labels"] for row in ROWS]


def test_ours_stands_beside_the_published_figure_with_its_spread_and_trust() -> None:
    rows = texts(published_table(*known(), spec_of()))
    assert rows[0][2:6] == ["1.94 (0.28)", "3", "0.39", "a single run"]
    assert rows[1][4] == "0.34 ± 0.032"
    assert rows[2][4] == "0.40 ± 0.10"


def test_a_row_without_an_arm_has_no_figure_of_ours_and_that_is_said() -> None:
    table = published_table(*known(), spec_of())
    assert texts(table)[3][2:5] == ["", "", "0.21"]
    assert any("no arm for it" in note for note in table.notes)


def test_an_arm_that_the_sweep_does_not_have_is_named() -> None:
    table = published_table(manifest_of(["cnn", "one"]), {}, spec_of())
    assert "This sweep has no arm three: its row has no figure of ours." in table.notes


def test_cells_that_do_not_count_are_shown_with_their_reason() -> None:
    table = published_table(*known(), spec_of())
    assert texts(table)[2][3] == "1 of 3"
    assert texts(table)[2][-1] == "1 diverged, 1 missing"
    assert "Arm three, seed 1: diverged: nan" in table.notes


def test_nothing_is_ever_bold() -> None:
    table = published_table(*known(), spec_of())
    assert not any(cell.is_bold for row in table.rows for cell in row)


def test_what_the_published_spread_is_stands_in_the_notes() -> None:
    notes = " ".join(published_table(*known(), spec_of()).notes)
    assert "± there: standard deviation of 3 trials." in notes
    assert "its meaning not known" in " ".join(published_table(*known(), spec_of(spread="")).notes)
    assert "The paper shifts its images." in notes


def test_the_notes_say_after_which_epoch_ours_was_measured() -> None:
    notes = " ".join(published_table(*known(), spec_of()).notes)
    assert "the last epoch, number 15." in notes


def test_two_rows_may_stand_for_one_arm() -> None:
    rows = [ROWS[0], ROWS[0] | {"published": 0.5}]
    table = published_table(*known(), spec_of(rows))
    assert [row[2] for row in texts(table)] == ["1.94 (0.28)"] * 2


def test_programs_read_labels_arm_interval_and_published_figure_apart() -> None:
    content = to_csv(published_table(*known(), spec_of()))
    rows = list(csv.DictReader(io.StringIO(content)))
    assert (rows[1]["method"], rows[1]["routing"], rows[1]["arm"]) == ("CapsNet", "1", "one")
    assert (rows[1]["published_percent"], rows[1]["published_spread"]) == ("0.34", "0.032")
    assert float(rows[0]["test_error_percent"]) == pytest.approx(100 * 7 / 360)
    assert rows[0]["test_error_percent_low"] == "", "no predictions"
    assert float(rows[0]["test_error_percent_sd"]) == pytest.approx(100 / 360)


def test_ours_has_an_interval_over_seeds_and_images_where_predictions_are_recorded() -> None:
    wrong = {"cnn": [range(6), range(7), range(8)]}
    records = by_key(*trials_of(wrong))
    table = published_table(manifest_of(["cnn"]), records, spec_of(), predictions_of(wrong))
    ours = mean_of(
        arm_results(manifest_of(["cnn"]), records)[0],
        {seed: n / 360 for seed, n in enumerate((6, 7, 8))},
        "test_error",
        predictions_of(wrong),
    )
    assert ours.interval.half_width is not None
    assert texts(table)[0][2] == f"1.94 ± {100 * ours.interval.half_width:.2f}"
    assert any(
        note.startswith("± of a mean: half of the 95 % interval, for new seeds and")
        for note in table.notes
    )


def test_headings_that_would_be_equal_in_csv_are_told_apart() -> None:
    spec = spec_of(
        [{"labels": ["a", "b", "c", "d"], "arm": None}], headings=["n", "N!", "x", "\u754c"]
    )
    header = to_csv(published_table(*known(), spec)).splitlines()[0].split(",")
    assert header[:4] == ["label_1", "label_2", "x", "label_4"]
    assert len(set(header)) == len(header)


def test_a_row_with_too_few_labels_is_refused_in_one_sentence() -> None:
    with pytest.raises(ValidationError, match=r"A row of '.*' has 1 labels \(a\) for 2 headings"):
        spec_of([{"labels": ["a"], "arm": "cnn"}])


def departed(**paths: Any) -> Manifest:
    departures = {path.replace("__", "."): change for path, change in paths.items()}
    return known()[0].model_copy(update={"departures": departures})


SMALLER = departed(stopping__epochs=(30, 3), seeds=([0, 1, 2, 3, 4], [0, 1, 2]))
SENTENCE = (
    "The sweep was launched smaller than declared: stopping.epochs 3 instead of 30 (--epochs); "
    "seeds 0, 1, 2 instead of 0, 1, 2, 3, 4 (--seeds)."
)


@pytest.mark.parametrize("make", [published, ablation_table])
def test_a_smaller_sweep_says_so_in_a_paragraph_before_the_title(make: Any) -> None:
    table, declared = make(SMALLER, known()[1]), make(*known())
    assert to_markdown(table).splitlines()[:3] == [SENTENCE, "", f"# {declared.title}"]
    assert f"<div>{SENTENCE}</div><div><strong>{declared.title}</strong>" in table.html
    caption = next(line for line in to_latex(table).splitlines() if r"\caption{" in line)
    assert caption.startswith(r"\caption{The sweep was launched smaller than declared: ")


@pytest.mark.parametrize("make", [published, ablation_table])
def test_programs_read_of_departures_in_a_column_that_readers_do_not_see(make: Any) -> None:
    table = make(SMALLER, known()[1])
    rows = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert {row["departures"] for row in rows} == {SENTENCE}
    assert "| Departures" not in to_markdown(table)
    assert "departures" not in to_csv(make(*known()))


LESS = "The sweep was launched smaller than declared:"
OTHER = "The sweep was not launched as declared:"


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        (departed(), ""),
        (departed(data__fraction=(1.0, 0.1)), f"{LESS} data.fraction 0.1 instead of 1.0 (--set)."),
        (
            departed(stopping__epochs=(3, 30)),
            f"{OTHER} stopping.epochs 30 instead of 3 (--epochs).",
        ),
        (
            departed(**{"of long.er stopping__max_epochs": (30, 3)}),
            f"{LESS} of long.er stopping.max_epochs 3 instead of 30 (--epochs).",
        ),
        (departed(trials=(3, 30)), f"{OTHER} trials 30 instead of 3 (--trials)."),
        (departed(batch_size=(64, 32)), f"{OTHER} batch_size 32 instead of 64 (--set)."),
        (
            departed(loss=({"kind": "margin"}, {"kind": "spread", "x": 1})),
            f"{OTHER} loss spread instead of margin (--set).",
        ),
        (departed(seeds=([0], [])), f"{LESS} seeds none instead of 0 (--seeds)."),
        (
            departed(seeds=([0], [0, 1])).model_copy(update={"planned_seeds": (0,)}),
            f"{OTHER} seeds 0, 1 instead of 0 (--add-seeds).",
        ),
        (departed(data=(None, "x" * 500)), f"{OTHER} data {'x' * 57}... instead of none (--set)."),
    ],
)
def test_departures_are_said_in_one_sentence(manifest: Manifest, sentence: str) -> None:
    assert departure_sentence(manifest).startswith(sentence)
    assert bool(departure_sentence(manifest)) == bool(sentence)
