"""Tables of tuned arms: what they leave out, what they say of the tuning, and what is bold."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest

from search_spaces.tables import AblationTable
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.report.making import make_report
from sweeps.aggregation.results.ablation_comparisons import ablation_comparisons
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.comparisons import tuning_slacks
from sweeps.aggregation.results.design_sentences import tuning_sentences
from sweeps.aggregation.results.pair_comparisons import pair_comparisons
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.results.ranking import ranking
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.statistics.tuning_slack import tuning_slack
from sweeps.aggregation.statistics.two_way import two_way
from sweeps.aggregation.tables.ablation_table import ablation_table
from sweeps.aggregation.tables.kinds import make
from sweeps.aggregation.tables.trials_table import trial_rows
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.aggregation.known_sweep import by_key, finished, trial_key
from tests.sweeps.aggregation.predicted import judged

RATE = "optimiser.learning_rate"
RATES = (0.001, 0.003, 0.01)
ARMS, SEEDS, TUNING_SEEDS = ("dynamic", "uniform"), (0, 1, 2), (101, 102)
CHOSEN = ("dynamic, tuning 3", "uniform, tuning 2")
CLEAR: Mapping[str, tuple[int, int, int]] = {"dynamic": (150, 90, 20), "uniform": (150, 60, 120)}


def tried(arm: str, place: int) -> str:
    return f"{arm}, tuning {place + 1}"


def manifest_of(seeds: tuple[int, ...] = TUNING_SEEDS, *, is_over: bool = True) -> Manifest:
    tunings = [(tried(arm, place), seed) for arm in ARMS for place in range(3) for seed in seeds]
    compared = [(arm, seed) for arm in ARMS for seed in SEEDS] if is_over else []
    names = dict.fromkeys(arm for arm, _ in (*tunings, *compared))
    content: dict[str, Any] = {
        "sweep": "known",
        "baseline": "dynamic",
        "arms": [
            {
                "name": name,
                "config": {},
                "num_parameters": 7,
                "changes": {RATE: RATES[int(name[-1]) - 1]} if "," in name else {},
            }
            for name in names
        ],
        "seeds": SEEDS,
        "cells": [
            {"arm": arm, "seed": seed, "trial_key": trial_key(arm, seed)}
            for arm, seed in (*tunings, *compared)
        ],
        "plan": {
            "kind": "tuned",
            "definition": "abc",
            "is_over": is_over,
            "chosen": CHOSEN if is_over else None,
            "factors": {RATE: RATES},
            "choosing_seeds": seeds,
            "tuned": {arm: [tried(arm, place) for place in range(3)] for arm in ARMS},
            "num_cells": len(tunings) + 6,
        },
    }
    return Manifest.model_validate(content)


def records_of(manifest: Manifest) -> dict[str, TrialRecord]:
    return by_key(
        *(finished(cell.arm, cell.seed, _wrong(cell.arm, cell.seed)) for cell in manifest.cells)
    )


def predictions_of(
    manifest: Manifest, validation: Mapping[str, tuple[int, int, int]]
) -> dict[str, Predictions]:
    """Return predictions: as compared arms are 40 images apart, tunings err as they are told."""
    predictions: dict[str, Predictions] = {}
    for cell in manifest.cells:
        arm, _, tuning = cell.arm.partition(", tuning ")
        places: Iterable[int] = range(_wrong(cell.arm, cell.seed))
        validated = None
        if tuning:
            validated = judged(range(validation[arm][int(tuning) - 1] + cell.seed % 3))
        predictions[cell.trial_key] = Predictions("data", judged(places), validated)
    return predictions


def table_of(validation: Mapping[str, tuple[int, int, int]], **changes: Any) -> Table:
    manifest = manifest_of(**changes)
    predictions = predictions_of(manifest, validation)
    return ablation_table(manifest, records_of(manifest), predictions=predictions)


def _wrong(arm: str, seed: int) -> int:
    return {"dynamic": 20, "uniform": 60 + seed % 3}.get(arm, 300) + seed % 3


def verdicts(validation: Mapping[str, tuple[int, int, int]]) -> list[str]:
    manifest = manifest_of()
    predictions = predictions_of(manifest, validation)
    arms = arm_results(manifest, records_of(manifest))
    return [comparison.verdict for comparison in ablation_comparisons(manifest, arms, predictions)]


def test_rows_and_ranks_are_of_the_arms_as_chosen_and_trials_of_all() -> None:
    manifest = manifest_of()
    records = records_of(manifest)
    assert [row[0].values[0] for row in table_of(CLEAR).rows] == [*ARMS]
    assert [ranked.arm.arm.name for ranked in ranking(manifest, records)] == [*ARMS]
    assert all({*arm.trials} == {*SEEDS} for arm in arm_results(manifest, records))
    assert len(trial_rows(manifest, records)) == 2 * 3 * 2 + 6


def test_notes_say_what_was_chosen_what_it_took_and_where_it_lies_at_an_end() -> None:
    notes = [*tuning_sentences(manifest_of())]
    assert notes == [
        "Every arm was tuned alike: 3 points of learning_rate, on 2 seeds that only choose; these "
        "12 trainings chose, and are in no row.",
        "Chosen on validation: dynamic: learning_rate 0.01; uniform: learning_rate 0.003.",
        "The best learning_rate of dynamic is the largest that was tried (0.01): a larger one may "
        "be better, so that this arm may be undersold.",
    ]
    assert {*notes} <= {*table_of(CLEAR).notes}
    assert not any(note.startswith("No arm is tuned") for note in table_of(CLEAR).notes)


def test_a_difference_is_bold_where_tuning_left_little_open_and_not_where_it_left_much() -> None:
    assert verdicts(CLEAR) == ["different"]
    unsure = {"dynamic": CLEAR["dynamic"], "uniform": (61, 60, 60)}
    assert verdicts(unsure) == ["different"], "the same images, so that little is left open"
    manifest = manifest_of()
    predictions = predictions_of(manifest, CLEAR)
    for place, other in enumerate((range(300, 360), range(200, 260))):
        for seed in TUNING_SEEDS:
            key = trial_key(tried("uniform", 2 * place), seed)
            predictions[key] = Predictions("data", judged(()), judged(other))
    arms = arm_results(manifest, records_of(manifest))
    (comparison,) = ablation_comparisons(manifest, arms, predictions)
    assert comparison.slack[0] > 0.04
    assert comparison.slack[1] == 0
    assert comparison.reach
    assert all(min(sizes) > 0.04 for sizes in (comparison.reach.more, comparison.reach.half_less))
    table = ablation_table(manifest, records_of(manifest), predictions=predictions).for_programs
    assert table
    at = [name for column in table.columns for name in column.fields].index("slack_points")
    slacks = [[value for cell in row for value in cell.values][at] for row in table.rows]
    assert sorted(map(str, slacks)) == sorted(["0.0", str(100 * comparison.slack[0])])


def test_nothing_is_bold_where_nobody_knows_what_tuning_left_open() -> None:
    manifest = manifest_of()
    predictions = predictions_of(manifest, CLEAR)
    for seed in TUNING_SEEDS:
        del predictions[trial_key(CHOSEN[1], seed)]
    arms = arm_results(manifest, records_of(manifest))
    (comparison,) = ablation_comparisons(manifest, arms, predictions)
    assert comparison.verdict == "undecided"
    table = ablation_table(manifest, records_of(manifest), predictions=predictions)
    assert any("is not known for uniform" in note for note in table.notes)
    assert [*pair_comparisons(manifest, arms, predictions).letters] == ["a", "a"]
    assert [*pair_comparisons(manifest, arms, predictions_of(manifest, CLEAR)).letters] == [
        "a",
        "b",
    ]


def test_slack_is_the_upper_end_by_which_another_point_may_be_better() -> None:
    chance = np.random.default_rng(5)
    wrong = chance.random((3, 4, 200)) < np.array([0.2, 0.21, 0.9])[:, None, None]
    from scipy.stats import t

    ends = []
    for other in (1, 2):
        way = two_way(wrong[0].astype(float) - wrong[other])
        seeds = np.mean([np.var(rows.mean(axis=-1), ddof=1) for rows in wrong]) * 2 / 4
        below = seeds**2 / 9 + way.over_images**2 / 199
        degrees = (seeds + way.over_images) ** 2 / below
        ends.append(way.mean + t.ppf(0.9, degrees) * np.sqrt(seeds + way.over_images))
    assert tuning_slack(wrong, np.asarray(0)) == pytest.approx(max(ends))
    assert max(ends) > 0
    assert ends[1] < 0, "what is clearly worse leaves nothing open"


def test_no_arm_of_another_plan_has_slack() -> None:
    manifest = manifest_of().model_copy(update={"plan": None})
    assert tuning_slacks(manifest, {}) == {}


def test_while_arms_are_tuned_a_table_says_so() -> None:
    manifest = manifest_of(is_over=False)
    results = Results(manifest, records_of(manifest), lambda trials, metric: {})
    section = make(AblationTable(), results)
    assert section
    assert section.notes == ("The arms are still being chosen: nothing is compared yet.",)
    assert not section.tables


def test_a_report_can_be_made_while_arms_are_tuned_and_once_they_are_compared() -> None:
    for is_over in (False, True):
        manifest = manifest_of(is_over=is_over)
        report = make_report(Results(manifest, records_of(manifest), lambda trials, metric: {}))
        notes = " ".join(note for section in report.background for note in section.notes)
        assert "Chosen by validation on the seeds 101, 102." in notes
        assert bool(report.sections[0].tables) == is_over
