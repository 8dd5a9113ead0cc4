"""The best configurations of a sweep, and its trials as a frame."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save

from sweeps.aggregation.best_configs import best_configs, ranked_configs
from sweeps.aggregation.frames import predictions, trials
from sweeps.aggregation.ranking_sentences import ranking_sentences
from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.results.arm_curves import arm_curves
from sweeps.aggregation.tables.trials_table import trials_table
from sweeps.cli.commands.best import print_best
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Stopped
from sweeps.records.trial_record import Outcome
from tests.sweeps.aggregation.known_sweep import (
    by_key,
    finished,
    known_sweep,
    manifest_of,
    put_sweep,
    put_trial,
    trial_key,
    unfinished,
    with_metrics,
)
from tests.sweeps.aggregation.small_search import FRESH, confirmed_search, search_of, trained


def test_a_frame_has_one_row_a_cell_in_the_sweeps_order(store):
    manifest, records = known_sweep()
    put_sweep(store, manifest, records.values())
    frame = trials("known", store)

    cells = [(arm.name, seed) for arm in manifest.arms for seed in manifest.seeds]
    assert list(zip(frame["arm"], frame["seed"], strict=True)) == cells
    assert frame["outcome"].value_counts().to_dict() == {
        "finished": 13,
        "missing": 1,
        "diverged": 1,
        "failed": 1,
        "interrupted": 1,
        "pruned": 1,
    }
    assert frame["test_error"].dtype == "float64"
    assert frame.loc[0, "test_error"] == 6 / 360


def test_a_frame_of_an_untouched_sweep_is_all_missing(store):
    put_sweep(store, manifest_of(["a"]), [])
    frame = trials("known", store)

    assert set(frame["outcome"]) == {"missing"}
    assert frame["test_error"].isna().all()


def test_a_frame_has_a_column_for_each_setting_that_the_sweep_varies(store):
    manifest = manifest_of(["base", "other"], [0])
    routings = ({"kind": "dynamic", "iterations": 3}, "none")
    arms = tuple(
        arm.model_copy(update={"config": {"model": {"routing": routing}, "dims": [8, 16]}})
        for arm, routing in zip(manifest.arms, routings, strict=True)
    )
    changed = arms[1].model_copy(
        update={"changes": {"model.routing": "none", "model.routing.iterations": 1, "dims": 1}}
    )
    manifest = manifest.model_copy(update={"arms": (arms[0], changed)})
    put_sweep(store, manifest, [finished("base", 0, 5)])
    frame = trials("known", store)

    assert [*frame["model.routing"]] == ["dynamic", "none"]
    assert frame["model.routing.iterations"][0] == 3
    assert pd.isna(frame["model.routing.iterations"][1])
    assert [*frame["dims"]] == ["8 x 16", "8 x 16"]
    csv = to_csv(trials_table(manifest, {}))
    assert csv.splitlines()[0].endswith(",test_error,model.routing,model.routing.iterations,dims")


def test_predictions_are_a_row_an_image_of_each_trial_that_holds_any(store, tmp_path):
    put_sweep(store, manifest_of(["a", "b"], [0]), [])
    record_id = put_trial(store, finished("b", 0, 0, test_error=0.5))
    put_trial(store, finished("a", 0, 0))
    tensors = {"predictions": np.uint8([1, 2]), "labels": np.uint8([1, 3])}
    (tmp_path / "predictions.safetensors").write_bytes(save(tensors))
    store.writer().upload(record_id, tmp_path / "predictions.safetensors")
    frame = predictions("known", store)

    assert [*frame["arm"]] == ["b", "b"]
    assert [*frame["image"]] == [0, 1]
    assert [*frame["is_wrong"]] == [False, True]
    empty = predictions("known", store, split="validation")
    assert empty.empty
    assert {**empty.dtypes} == {**frame.dtypes}
    with pytest.raises(BadInput, match="no split 'train' to be seen"):
        predictions("known", store, split="train")


def test_who_was_stopped_has_no_results_of_a_random_point_that_is_the_same_trial(store, tmp_path):
    known = manifest_of(["proposal 0", "random 0"], [0])
    proposed, drawn = known.cells
    stop = Stopped(epoch=1, value=0.5)
    cells = (proposed.model_copy(update={"trial_key": drawn.trial_key, "stopped": stop}), drawn)
    manifest = known.model_copy(update={"cells": cells})
    put_sweep(store, manifest, [])
    record = finished("random 0", 0, 5, test_error=0.5)
    record_id = put_trial(store, record)
    tensors = {"predictions": np.uint8([1, 2]), "labels": np.uint8([1, 3])}
    (tmp_path / "predictions.safetensors").write_bytes(save(tensors))
    store.writer().upload(record_id, tmp_path / "predictions.safetensors")

    assert [*predictions("known", store)["arm"]] == ["random 0", "random 0"]
    curves = arm_curves(manifest, {drawn.trial_key: record}, {drawn.trial_key: {1: 0.5, 2: 0.4}})
    assert [curve.seeds for curve in curves] == [(), (0,)]


def put_errors(store, errors, **more):
    """Put a sweep whose validation errors are given, arm -> one a seed."""
    manifest = manifest_of(errors, [0, 1])
    put_sweep(store, manifest, [])
    for arm, row in errors.items():
        for seed, error in enumerate(row):
            put_trial(store, finished(arm, seed, 5, epochs=1, validation_error=error, **more))


def test_arms_are_ranked_by_their_mean_last_epoch_validation_error(store):
    put_errors(store, {"worst": (0.3, 0.5), "best": (0.1, 0.2), "middle": (0.2, 0.3)})
    ranked = best_configs("known", store)

    assert [(best.rank, best.arm) for best in ranked] == [(1, "best"), (2, "middle"), (3, "worst")]
    assert ranked[0].validation_error.mean == pytest.approx(0.15)
    assert ranked[0].config == {"batch_size": 33}
    assert [trial.seed for trial in ranked[0].trials] == [0, 1]
    assert [best.arm for best in best_configs("known", store, count=1)] == ["best"]


def test_without_predictions_an_error_has_its_spread_and_no_interval(store):
    put_errors(store, {"good": (0.0, 0.02)})
    (best,) = best_configs("known", store)

    for interval in (best.value, best.validation_error):
        assert (interval.low, interval.high) == (None, None)
        assert interval.mean == pytest.approx(0.01)
        assert interval.deviation == pytest.approx(0.02 / 2**0.5)


@pytest.mark.parametrize("test_error", [None, 0.0, 1.0, float("nan")])
def test_test_errors_never_change_a_ranking(test_error, store):
    manifest = manifest_of(["a", "b"], [0])
    put_sweep(store, manifest, [])
    put_trial(store, finished("a", 0, 5, validation_error=0.1, test_error=test_error))
    put_trial(store, finished("b", 0, 5, validation_error=0.2, test_error=0.5))

    assert [best.arm for best in best_configs("known", store)] == ["a", "b"]


def test_ranking_shows_nothing_of_the_test_split(store):
    put_errors(store, {"a": (0.1, 0.2)}, test_error=0.777)

    assert "0.777" not in repr(best_configs("known", store))


def test_equal_arms_keep_the_sweeps_order(store):
    put_errors(store, {"z": (0.1, 0.2), "a": (0.2, 0.1)})

    assert [best.arm for best in best_configs("known", store)] == ["z", "a"]


def test_only_finished_trials_are_ranked(store):
    put_sweep(store, manifest_of(["a", "b"], [0, 1]), [])
    put_trial(store, finished("a", 0, 5, validation_error=0.4))
    put_trial(store, unfinished("a", 1, Outcome.DIVERGED, ""))
    put_trial(store, unfinished("b", 0, Outcome.PRUNED, ""))
    (best,) = best_configs("known", store)

    assert (best.arm, best.num_trials, best.num_planned) == ("a", 1, 2)


def put_search(store, manifest, records):
    put_sweep(store, manifest, [])
    for trial in records.values():
        put_trial(store, trial.model_copy(update={"epochs": 1}))


def test_the_best_of_a_search_are_ranked_by_the_seeds_that_did_not_choose_them(store):
    put_search(store, *confirmed_search())
    ranked = best_configs("known", store)

    assert [best.arm for best in ranked] == ["proposal 3", "proposal 1"]
    assert all(best.is_confirmed for best in ranked)
    assert ranked[0].value.mean == pytest.approx((8 + 9 + 8) / 3 / 600)
    assert (ranked[0].num_trials, ranked[0].num_planned) == (3, 3)
    assert {trial.seed for trial in ranked[0].trials} == set(FRESH)


def unconfirmed():
    """Return searches of which proposal 3 was stopped, and no confirmation is whole."""
    records = trained({0: 30, 1: 6, 2: 12, 3: 5})
    yield search_of(stopped={3: 2}), records
    yield search_of([1, 2], stopped={3: 2}), records | trained({}, {1: (50, 50, 50)})


@pytest.mark.parametrize("search", list(unconfirmed()), ids=["not chosen", "not whole"])
def test_until_they_are_confirmed_those_of_full_length_are_ranked_as_found(search, store):
    put_search(store, *search)
    ranked = best_configs("known", store)

    assert [best.arm for best in ranked] == ["proposal 1", "proposal 2", "proposal 0"]
    assert not any(best.is_confirmed for best in ranked)
    assert [best.num_planned for best in ranked] == [1, 1, 1]


def test_an_arm_whose_fresh_trials_partly_diverged_stands_behind_and_is_not_confirmed(store):
    manifest, records = confirmed_search()
    bad = unfinished("proposal 3", FRESH[0], Outcome.DIVERGED, "nan")
    put_search(store, manifest, records | by_key(bad))
    *_, last = best_configs("known", store)

    assert (last.arm, last.is_confirmed, last.num_trials) == ("proposal 3", False, 2)


def test_a_search_is_ranked_by_its_own_objective(store):
    records = trained({0: 30, 1: 6, 2: 12})
    key = trial_key("proposal 0", 0)
    records[key] = with_metrics(records[key], validation_loss=0.0001)
    put_search(store, search_of(objective="validation_loss"), records)
    ranked = best_configs("known", store)

    assert [best.arm for best in ranked] == ["proposal 0", "proposal 1", "proposal 2"]
    assert ranked[0].objective == "validation_loss"
    assert ranked[0].value.mean == 0.0001
    assert ranked[0].validation_error.mean == 30 / 600


def test_the_arms_of_a_design_need_no_confirmation(store):
    put_errors(store, {"a": (0.1, 0.2)})

    assert best_configs("known", store)[0].is_confirmed


def test_the_best_of_a_search_are_printed_with_what_they_are_ranked_by(store, capsys):
    put_search(store, *confirmed_search())
    ranking = ranked_configs("known", store)
    print_best(ranking.configs, ranking_sentences("known", ranking))

    out = capsys.readouterr().out
    assert "validation error %" in out
    assert "1.39 (0.10)" in out
    assert "iterations 3" in out
    assert "not confirmed" not in out.lower()


def test_arms_that_are_not_confirmed_are_printed_as_such(store, capsys):
    manifest = search_of(objective="validation_loss")
    put_search(store, manifest, trained({0: 30, 1: 6}))
    ranking = ranked_configs("known", store)
    print_best(ranking.configs, ranking_sentences("known", ranking))

    out = capsys.readouterr().out
    assert "proposal 1 (not confirmed)" in out
    assert "0.00667" in out
    assert "Ranked by mean validation loss of the last epoch" in out
    assert "look better than they are" in out


def test_a_frame_of_a_search_holds_every_cell_and_where_trials_were_stopped(store):
    records = confirmed_search()[1]
    put_search(store, search_of([1, 3], reference=2, stopped={0: 4}), records)
    frame = trials("known", store)

    assert len(frame) == 4 + 9
    stopped = frame[frame["stopped_epoch"].notna()]
    assert list(stopped["arm"]) == ["proposal 0"]
    assert list(stopped["outcome"]) == ["pruned"]
    assert list(stopped["validation_error"]) == [0.5]
    assert stopped["test_error"].isna().all()
    assert frame["stopped_epoch"].dtype == "Int64"


def test_what_another_sweep_made_of_a_stopped_trial_changes_no_result():
    manifest = search_of(stopped={0: 4})
    pruned = unfinished("proposal 0", 0, Outcome.PRUNED, "")
    complete = finished("proposal 0", 0, 30)

    expected = trials_table(manifest, by_key(complete))
    assert trials_table(manifest, by_key(pruned)) == expected
    assert trials_table(manifest, {}) == expected


@pytest.mark.parametrize(
    ("module", "may_load"), [("best_configs", ""), ("frames", ""), ("report", "numpy")]
)
def test_importing_aggregation_loads_no_heavy_package(module, may_load):
    program = (
        f"import sys, sweeps.aggregation.{module}; heavy = ("
        "'torch', 'ray', 'mlflow', 'pandas', 'numpy', 'scipy', 'statsmodels', 'matplotlib', "
        "'capsmodel.config'); "
        f"print([m for m in heavy if m in sys.modules and m != '{may_load}'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_an_arm_that_lost_a_trial_stands_last_however_good_the_rest(store):
    manifest = manifest_of(["whole", "lucky"], [0, 1])
    diverged = unfinished("lucky", 1, Outcome.DIVERGED, "nan")
    wrong = [finished("whole", 0, 9), finished("whole", 1, 9), finished("lucky", 0, 1), diverged]
    put_sweep(store, manifest, wrong)

    assert [best.arm for best in best_configs("known", store)] == ["whole", "lucky"]


@pytest.mark.parametrize(("loss", "first"), [("margin", "b"), ("cross_entropy", "a")])
def test_equal_means_are_ranked_by_the_loss_where_losses_compare(loss, first, store):
    manifest = manifest_of(["a", "b"], [0])
    configs = ({"loss": {"kind": "margin"}}, {"loss": {"kind": loss}})
    arms = (
        arm.model_copy(update={"config": config})
        for arm, config in zip(manifest.arms, configs, strict=True)
    )
    put_sweep(store, manifest.model_copy(update={"arms": tuple(arms)}), [])
    for arm, value in (("a", 0.3), ("b", 0.2)):
        put_trial(store, finished(arm, 0, 5, validation_loss=value))

    assert best_configs("known", store)[0].arm == first
