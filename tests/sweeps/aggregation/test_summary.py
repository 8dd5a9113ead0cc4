"""What is shown of a sweep: numbers of the tables, never of a trial that tables leave out."""

from statistics import fmean, stdev

import pytest

from sweeps.aggregation.report import summarise
from sweeps.aggregation.results.arms import arm_results
from sweeps.records.trial_record import Outcome
from tests.sweeps.aggregation.known_search import floats, searched
from tests.sweeps.aggregation.known_sweep import (
    IMAGES,
    by_key,
    finished,
    known_sweep,
    manifest_of,
    unfinished,
)


def test_an_arm_has_the_mean_and_the_spread_of_its_table_and_its_count() -> None:
    manifest, records = known_sweep()
    shown = {arm.name: arm for arm in summarise(manifest, records).arms}
    assert list(shown) == [arm.name for arm in manifest.arms]
    for arm in arm_results(manifest, records):
        errors = [*arm.test_errors.values()]
        numbers = shown[arm.arm.name].numbers
        assert numbers["num_trials"] == len(errors)
        assert numbers.get("test_error") == (pytest.approx(fmean(errors)) if errors else None)
        assert numbers.get("test_error_sd") == (stdev(errors) if errors[1:] else None)
    assert shown["three rounds"].numbers["test_error"] == pytest.approx(7 / IMAGES)
    assert shown["three rounds"].note.startswith("The baseline: ")


def test_a_trial_that_did_not_finish_enters_no_mean() -> None:
    manifest = manifest_of(["base", "other"], seeds=(0, 1))
    base = [finished("base", seed, 9) for seed in (0, 1)]
    half = [finished("other", 0, 6), unfinished("other", 1, Outcome.INTERRUPTED, "")]
    shown = summarise(manifest, by_key(*base, *half))
    base_arm, other = shown.arms
    assert other.numbers == {
        "num_trials": 1,
        "test_error": 6 / IMAGES,
        "validation_error": 6 / 600,
    }
    assert (base_arm.is_whole, other.is_whole) == (True, False)
    assert "1 finished of 2 trials" in other.note
    assert shown.numbers["num_trials"] == 3


def test_the_best_arm_is_the_first_of_the_ranking_which_sees_no_test_error() -> None:
    manifest = manifest_of(["base", "other"], seeds=(0, 1))
    misleading = [finished("other", seed, 3, test_error=0.9) for seed in (0, 1)]
    base = [finished("base", seed, 9) for seed in (0, 1)]
    shown = summarise(manifest, by_key(*base, *misleading))
    assert shown.best == "other"
    assert shown.numbers["validation_error"] == 3 / 600
    assert shown.numbers["test_error"] == 0.9


def test_extra_test_errors_are_summed_up_too() -> None:
    manifest = manifest_of(["base"], seeds=(0, 1))
    trials = [
        finished("base", seed, 9, extra_test_errors={"affine": 0.1 * seed}) for seed in (0, 1)
    ]
    (arm,) = summarise(manifest, by_key(*trials)).arms
    assert arm.numbers["test_error.affine"] == 0.05
    assert arm.numbers["test_error.affine_sd"] == pytest.approx(0.1 / 2**0.5)


def test_of_one_seed_there_is_nothing_between_the_sweep_and_its_trials() -> None:
    manifest = manifest_of(["base", "other"], seeds=(3,))
    shown = summarise(manifest, by_key(finished("base", 3, 9), finished("other", 3, 6)))
    assert shown.arms == ()
    assert [trial.arm for trial in shown.trials] == ["base", "other"]
    assert shown.numbers["test_error"] == 6 / IMAGES


def test_a_search_shows_its_best_and_no_arms() -> None:
    params = [{"rate": value} for value in (0.1, 0.3, 0.2)]
    manifest, records = searched([floats("rate")], params, lambda settings: float(settings["rate"]))
    assert summarise(manifest, {}).numbers == {"num_trials": 0}
    shown = summarise(manifest, records)
    assert shown.arms == ()
    assert shown.best == "proposal 0"
    assert shown.numbers["validation_error"] == 0.1


def test_a_trial_of_two_arms_is_shown_once_below_the_first() -> None:
    manifest = manifest_of(["base", "other"], seeds=(0,))
    cells = [cell.model_copy(update={"trial_key": "a" * 20}) for cell in manifest.cells]
    manifest = manifest.model_copy(update={"cells": tuple(cells)})
    trial = finished("base", 0, 9).model_copy(update={"trial_key": "a" * 20})
    (shown,) = summarise(manifest, by_key(trial)).trials
    assert shown.arm == "base"


def test_the_digest_changes_with_any_number_and_with_nothing_else() -> None:
    manifest, records = known_sweep()
    shown = summarise(manifest, records)
    reordered = summarise(manifest, dict(reversed(records.items())))
    assert reordered.digest == shown.digest
    key = next(iter(records))
    records[key] = finished("three rounds", 0, 60)
    assert summarise(manifest, records).digest != shown.digest
