"""Trials that never reached their target are marked, and what trials warned of is said."""

import csv
import io
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from search_spaces.tables import PublishedTable
from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.latex import to_latex
from sweeps.aggregation.rendering.markdown import to_markdown
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.targets import epoch_of_test_text, most_epochs, target_text
from sweeps.aggregation.tables.ablation_table import ablation_table
from sweeps.aggregation.tables.notes import health_notes
from sweeps.aggregation.tables.published_table import published_table
from sweeps.aggregation.tables.trials_table import trials_table
from sweeps.records.manifest import Manifest, ManifestArm
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.aggregation.known_sweep import by_key, finished, manifest_of
from tests.sweeps.aggregation.predicted import Wrong, predictions_of, trials_of

TARGET = {
    "kind": "target_metric",
    "metric": "validation_error",
    "at_or_below": 0.04,
    "max_epochs": 50,
}
NOTE = (
    "† 2 of 3 trials of capsules never reached their target (validation error at or below 4 %) "
    "within 50 epochs."
)


def known(**changes: Any) -> tuple[Manifest, dict[str, TrialRecord]]:
    configs: dict[str, dict[str, Any]] = {"cnn": {}, "capsules": {"stopping": TARGET}}
    arms = tuple(
        ManifestArm(name=name, config=config, num_parameters=1) for name, config in configs.items()
    )
    manifest = manifest_of(configs).model_copy(update={"arms": arms})
    reached = ("reached", "missed", "missed")
    return manifest, by_key(
        *(finished("cnn", seed, 5 + seed) for seed in range(3)),
        *(
            finished("capsules", seed, 9 + seed, target=reached[seed], **changes)
            for seed in range(3)
        ),
    )


def published(manifest: Manifest, records: dict[str, TrialRecord]) -> Table:
    rows = [{"labels": [name], "arm": name} for name in ("cnn", "capsules")]
    content = {"name": "t", "title": "T", "headings": ["Arm"], "rows": rows}
    return published_table(manifest, records, PublishedTable.model_validate(content))


@pytest.mark.parametrize("make", [ablation_table, published])
def test_a_figure_with_a_missed_target_is_marked_and_explained(make: Any) -> None:
    table = make(*known())
    assert NOTE in table.notes
    assert any("Trials of capsules end with the first epoch" in note for note in table.notes)
    marked = [cell.text for row in table.rows for cell in row if cell.text.endswith("†")]
    assert marked in (["2.78 ± 0.69 †"], ["2.78 (0.28) †"])
    assert "†" in to_markdown(table)
    assert r"\textdagger{}" in to_latex(table)


def read_by_programs(table: Table) -> Table:
    return table.for_programs or table


@pytest.mark.parametrize("make", [ablation_table, published])
def test_programs_read_how_many_missed_where_any_has_a_target(make: Any) -> None:
    rows = csv.DictReader(io.StringIO(to_csv(read_by_programs(make(*known())))))
    assert [row["num_target_missed"] for row in rows] == ["0", "2"]
    manifest, records = known()
    old = {key: record.model_copy(update={"target": None}) for key, record in records.items()}
    assert "num_target_missed" not in to_csv(read_by_programs(make(manifest, old)))
    assert not any("target" in note for note in make(manifest, old).notes)


@pytest.mark.parametrize(
    ("stopping", "text", "epochs"),
    [
        (TARGET, "validation error at or below 4 %", 50),
        (TARGET | {"window": 0.002}, "validation error above 3.8 % and at or below 4 %", 50),
        (
            {"metric": "validation_loss", "at_or_below": 0.25, "max_epochs": 3},
            "validation loss at or below 0.25",
            3,
        ),
        ({"kind": "fixed_epochs", "epochs": 3}, "", None),
        ({"kind": "own", "metric": 3, "at_or_below": "x", "max_epochs": "y"}, "", None),
        (None, "", None),
    ],
)
def test_a_target_in_words(stopping: Any, text: str, epochs: int | None) -> None:
    assert target_text({"stopping": stopping}) == text
    assert most_epochs({"stopping": stopping}) == epochs


def test_trials_csv_has_columns_of_what_only_some_sweeps_have() -> None:
    more = {"extra_test_errors": {"familiar": 0.125}, "warnings": ("a is dead", "b is dead")}
    rows = list(csv.DictReader(io.StringIO(to_csv(trials_table(*known(**more))))))
    assert (rows[0]["target"], rows[0]["test_error.familiar"], rows[0]["warnings"]) == ("", "", "")
    assert (rows[4]["target"], rows[4]["test_error.familiar"]) == ("missed", "0.125")
    assert rows[4]["warnings"] == "a is dead; b is dead"
    plain = manifest_of(["cnn"]), by_key(finished("cnn", 0, 5))
    assert to_csv(trials_table(*plain)).splitlines()[0].endswith(",test_error")


@pytest.mark.parametrize("make", [ablation_table, published])
def test_what_trials_warned_of_stands_under_the_table(make: Any) -> None:
    notes = make(*known(warnings=("all class capsules are dead",))).notes
    assert "Health: capsules seed 0: all class capsules are dead" in notes


def test_of_many_warnings_a_few_are_said_and_the_rest_counted() -> None:
    arms = arm_results(*known(warnings=("one", "two", "three")))
    notes = list(health_notes(arms))
    assert len(notes) == 6
    assert notes[-1] == "Health: 4 more such lines: see the warnings in trials.csv."


WINDOW = TARGET | {"every_steps": 10, "window": 0.01}
WRONG: Wrong = {
    "cnn": [range(9), range(8), range(10)],
    "capsules": [range(1, 10), range(8), range(11)],
    "worse": [range(60), range(64), range(62)],
}


def in_windows(*, metrics: Mapping[str, float] = MappingProxyType({}), **more: Any) -> Table:
    """Return the table of an arm as good as the baseline, and one that never arrives."""
    manifest = manifest_of([*WRONG], **more)
    arms = [arm.model_copy(update={"config": {"stopping": WINDOW}}) for arm in manifest.arms]
    manifest = manifest.model_copy(update={"arms": tuple(arms)})
    records = {
        key: record.model_copy(
            update={
                "target": "missed" if record.arm == "worse" else "reached",
                "metrics": {**record.metrics, **metrics},
            }
        )
        for key, record in by_key(*trials_of(WRONG)).items()
    }
    return ablation_table(manifest, records, predictions=predictions_of(WRONG))


def test_arms_that_stop_in_a_window_are_matched_where_test_errors_are_equivalent() -> None:
    table = in_windows(margin_points=5.0)
    within = "to the baseline's within ±5 points, the margin declared"
    assert f"Matched: clean test errors of capsules are equivalent {within}." in table.notes
    assert (
        f"Not matched: clean test errors of worse are not shown to be equivalent {within}: other "
        "differences from it may come from that."
    ) in table.notes
    assert (
        "† 3 of 3 trials of worse never reached their target (validation error above 3 % and at or "
        "below 4 %) within 50 epochs."
    ) in table.notes
    assert any("end with the first judgement that reaches" in note for note in table.notes)
    rows = list(csv.DictReader(io.StringIO(to_csv(read_by_programs(table)))))
    assert [row["is_matched"] for row in rows] == ["", "true", "false"]
    assert [row["num_target_missed"] for row in rows] == ["0", "0", "3"]


def test_a_narrower_margin_matches_none_and_without_one_the_table_asks_for_it() -> None:
    narrow = next(note for note in in_windows(margin_points=0.1).notes if "matched" in note)
    assert narrow.startswith("Not matched: clean test errors of capsules, worse are not shown")
    without = next(note for note in in_windows().notes if "matched" in note)
    assert "no margin was declared" in without
    assert "margin_points" in without
    assert not any("atched" in note for note in ablation_table(*known()).notes)


def test_no_arm_is_matched_by_test_images_of_another_kind() -> None:
    table = in_windows(margin_points=5.0, metrics={"test_error.placed": 0.05})
    (note,) = (note for note in table.notes if "matched" in note.lower())
    assert "no arm is called matched: compare the errors on 'placed' in trials.csv" in note
    rows = list(csv.DictReader(io.StringIO(to_csv(read_by_programs(table)))))
    assert [row["is_matched"] for row in rows] == ["", "", ""]


LAST, BEST = {}, {"weights": "best"}
OF_BEST = "the epoch of the lowest validation error"


@pytest.mark.parametrize(
    ("configs", "epoch"),
    [
        ((LAST, {"weights": "last"}), "the last epoch"),
        ((BEST, BEST), OF_BEST),
        ((LAST, BEST), f"the last epoch or, where an arm sets weights=best, {OF_BEST}"),
        ((), "the last epoch"),
    ],
)
def test_tables_say_after_which_epoch_the_weights_were_tested(
    configs: tuple[dict[str, Any], ...], epoch: str
) -> None:
    assert epoch_of_test_text(configs) == epoch
    if not configs:
        return
    arms = tuple(
        ManifestArm(name=name, config=config, num_parameters=1)
        for name, config in zip(("base", "other"), configs, strict=True)
    )
    manifest = manifest_of(["base", "other"]).model_copy(update={"arms": arms})
    tested = {} if configs[1] is LAST or "weights" not in configs[1] else {"tested_epoch": 4}
    trials = [finished("base", 0, 5), finished("other", 0, 9, **tested)]
    table = ablation_table(manifest, by_key(*trials), {})
    assert f"Test errors are those of {epoch}, on test images that chose nothing" in " ".join(
        table.notes
    )
    names = to_csv(trials_table(manifest, by_key(*trials))).splitlines()[0].split(",")
    assert ("tested_epoch" in names) == bool(tested)
