"""The table of evaluations shows what the sweep declares, by arm, and says what is not there."""

import statistics
from typing import Any

import numpy as np
import pytest

from capsmodel.metrics import Metric
from sweeps.aggregation.statistics.intervals import mean_interval
from sweeps.aggregation.tables.evaluations_table import evaluations_table
from sweeps.records.evaluation_names import evaluation_metric, evaluation_tag
from sweeps.records.manifest import Stopped
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.trial_record import Outcome, TrialRecord
from sweeps.tracking.record_facts import record_of
from tests.sweeps.execution.examples import manifest as plain_manifest

SHIFTED = ManifestEvaluation(
    evaluation_key="ab" * 10,
    kind="shifted_test_error",
    settings={"pixels": 1},
    looks_at="test",
    metrics=(Metric(name="up_1", unit="fraction", split="test", moment="end"),),
)
BELIEF = ManifestEvaluation(
    evaluation_key="cd" * 10,
    kind="belief",
    looks_at="validation",
    metrics=(Metric(name="mean", direction=None, moment="end"),),
)
MANIFEST = plain_manifest(seeds=(0, 1, 2)).model_copy(update={"evaluations": (SHIFTED, BELIEF)})
VALUES = {"base": (0.125, 0.25, 0.5), "other": (0.1, 0.2, 0.3)}


def record(key: str, evaluations: dict[str, dict[str, float]], **changes: Any) -> TrialRecord:
    """Return a record as it is read of a run that holds these evaluations."""
    facts = {"capsweep.trial_key": key, "capsweep.seed": "0", "capsweep.outcome": "finished"}
    facts |= {evaluation_tag(evaluation): f"kind_{evaluation[:2]}" for evaluation in evaluations}
    metrics = {
        evaluation_metric(f"kind_{evaluation[:2]}", evaluation, name): value
        for evaluation, numbers in evaluations.items()
        for name, value in numbers.items()
    }
    return record_of(key, facts, metrics | {"test_error": 0.5}).model_copy(update=changes)


def records() -> dict[str, TrialRecord]:
    return {
        cell.trial_key: record(
            cell.trial_key,
            {
                SHIFTED.evaluation_key: {"up_1": VALUES[cell.arm][cell.seed]},
                BELIEF.evaluation_key: {"mean": 0.75},
                "ef" * 10: {"of_another_sweep": 1.0},
            },
        )
        for cell in MANIFEST.cells
    }


def rows(trials: dict[str, TrialRecord], manifest: Any = MANIFEST) -> list[dict[str, Any]]:
    table = evaluations_table(manifest, trials)
    names = [name for column in table.columns for name in column.fields]
    return [dict(zip(names, [v for c in row for v in c.values], strict=True)) for row in table.rows]


def test_there_is_a_row_an_evaluation_metric_and_arm() -> None:
    shown = rows(records())
    places = [(row["evaluation"], row["metric"], row["arm"]) for row in shown]
    assert places == [
        ("shifted_test_error", "up_1", "base"),
        ("shifted_test_error", "up_1", "other"),
        ("belief", "mean", "base"),
        ("belief", "mean", "other"),
    ]
    assert [row["split"] for row in shown] == ["test", "test", "validation", "validation"]


def test_programs_read_fractions_and_readers_percent_with_their_spread() -> None:
    first = rows(records())[0]
    mean, sd = statistics.mean(VALUES["base"]), statistics.stdev(VALUES["base"])
    assert first["mean"] == pytest.approx(mean)
    assert (first["mean_low"], first["mean_sd"]) == (None, pytest.approx(sd))
    cell = evaluations_table(MANIFEST, records()).rows[0][4]
    assert cell.text == f"{100 * mean:.2f} ({100 * sd:.2f})"
    assert evaluations_table(MANIFEST, records()).rows[2][4].text == "0.7500 (0.0000)"


def test_a_share_whose_images_are_recorded_has_an_interval_over_seeds_and_images() -> None:
    wrong = {
        cell.trial_key: {
            SHIFTED.evaluation_key: {"up_1": np.arange(40) < 40 * VALUES["base"][cell.seed]}
        }
        for cell in MANIFEST.cells
        if cell.arm == "base"
    }
    table = evaluations_table(MANIFEST, records(), wrong=wrong)
    alone = mean_interval(VALUES["base"]).half_width
    _, low, high, sd = table.rows[0][4].values
    assert alone is not None
    assert (low, sd) == (0, pytest.approx(statistics.stdev(VALUES["base"])))
    assert isinstance(high, float)
    assert high >= statistics.mean(VALUES["base"]) + alone - 1e-12
    assert [row[4].text.count("\N{PLUS-MINUS SIGN}") for row in table.rows] == [1, 0, 0, 0]
    assert any("new seeds and new test images, on one split;" in note for note in table.notes)
    assert any(note.startswith("Without it, in brackets") for note in table.notes)


def test_what_is_gone_is_not_available_and_enters_no_mean() -> None:
    trials = records()
    gone = [cell.trial_key for cell in MANIFEST.cells if cell.arm == "other"]
    gone_of_base = next(
        cell.trial_key for cell in MANIFEST.cells if cell.arm == "base" and cell.seed == 2
    )
    for key in (*gone, gone_of_base):
        trials[key] = record(key, {BELIEF.evaluation_key: {"mean": 0.75}})
    table = evaluations_table(MANIFEST, trials)
    assert table.rows[1][4].text == "not available"
    assert [row["num_not_available"] for row in rows(trials, MANIFEST)] == [1, 3, 0, 0]
    assert rows(trials)[0]["mean"] == pytest.approx((0.125 + 0.25) / 2)
    assert table.rows[0][3].text == "2 of 3"
    assert any(note.startswith("Not available: finished trials") for note in table.notes)
    assert not any("Not available" in note for note in evaluations_table(MANIFEST, records()).notes)


@pytest.mark.parametrize("outcome", [Outcome.DIVERGED, Outcome.PRUNED, Outcome.FAILED])
def test_trials_that_have_not_finished_have_none(outcome: Outcome) -> None:
    trials = {key: record(key, {}, outcome=outcome) for key in records()}
    assert all(row["n"] == 0 and row["num_not_available"] == 0 for row in rows(trials))
    assert evaluations_table(MANIFEST, trials).rows[0][4].text == ""


def test_a_trial_that_this_sweep_stopped_has_none_though_another_finished_it() -> None:
    stopped = tuple(
        cell.model_copy(update={"stopped": Stopped(epoch=1, value=0.5)}) for cell in MANIFEST.cells
    )
    shown = rows(records(), MANIFEST.model_copy(update={"cells": stopped}))
    assert all(row["n"] == 0 and row["num_not_available"] == 0 for row in shown)


def test_the_order_of_records_changes_nothing() -> None:
    trials = records()
    turned = dict(reversed(trials.items()))
    assert evaluations_table(MANIFEST, trials) == evaluations_table(MANIFEST, turned)
