"""Frames of trials, epochs, images and sweeps: what they hold, of what, and in which units."""

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save

import sweeps
from capsmodel.metrics import Metric
from sweeps.aggregation.best_configs import best_configs
from sweeps.aggregation.frames import curves, evaluations, predictions, trials
from sweeps.aggregation.frames import sweeps as all_sweeps
from sweeps.records.errors import BadInput
from sweeps.records.evaluation_names import evaluation_metric
from sweeps.records.manifest import Stopped
from sweeps.records.manifest_evaluation import ManifestEvaluation
from tests.sweeps.aggregation.evaluated import curve_evaluation
from tests.sweeps.aggregation.known_sweep import (
    finished,
    known_sweep,
    manifest_of,
    put_sweep,
    put_trial,
    trial_key,
)
from tests.sweeps.aggregation.small_search import FRESH, confirmed_search
from tests.sweeps.aggregation.tables.test_tuned_arms import ARMS, TUNING_SEEDS
from tests.sweeps.aggregation.tables.test_tuned_arms import manifest_of as tuned_manifest

UNITLESS = {"train_loss", "validation_loss", "seed", "label", "prediction", "image", "is_wrong"}


@pytest.fixture
def two_sweeps(store):
    """Return a store with sweeps "known" and "other", which varies a setting."""
    manifest, records = known_sweep()
    put_sweep(store, manifest, records.values())
    put_sweep(store, routings(), [finished("em", 5, 4), finished("dynamic", 5, 9)])
    return store


def routings():
    """Return a sweep of two routings that is called "other"."""
    manifest = manifest_of(["em", "dynamic"], [5], sweep="other")
    arms = tuple(
        arm.model_copy(
            update={
                "config": {"model": {"routing": {"kind": arm.name, "iterations": 2}}, "epochs": 9},
                "changes": {"model.routing": arm.name},
            }
        )
        for arm in manifest.arms
    )
    return manifest.model_copy(update={"arms": arms})


def test_without_a_name_trials_are_those_of_all_sweeps(two_sweeps):
    frame = trials(tracking_uri=two_sweeps)

    assert frame.columns[0] == "sweep"
    assert frame["sweep"].value_counts().to_dict() == {"known": 18, "other": 2}
    assert [*frame["model.routing"].dropna()] == ["em", "dynamic"]
    of_other = frame[frame["sweep"] == "other"].drop(columns="sweep").reset_index(drop=True)
    assert [*of_other["test_error"]] == [*trials("other", two_sweeps)["test_error"]]


def test_a_setting_that_one_sweep_varies_is_told_of_the_others(store):
    fixed = manifest_of(["only"], [0], sweep="fixed")
    (arm,) = fixed.arms
    config = {"model": {"routing": {"kind": "uniform"}}}
    arm = arm.model_copy(update={"config": config})
    put_sweep(store, fixed.model_copy(update={"arms": (arm,)}), [])
    put_sweep(store, routings(), [])

    assert [*trials(tracking_uri=store)["model.routing"]] == ["uniform", "em", "dynamic"]


def test_every_setting_is_a_column_that_pandas_can_query(two_sweeps):
    frame = trials("other", two_sweeps)

    assert [*frame["model.routing.iterations"]] == [2, 2]
    assert [*frame["setting.epochs"]] == [9, 9], "a result is called epochs"
    assert frame.columns.get_loc("model.routing") < frame.columns.get_loc("setting.epochs")
    by_setting = "`model.routing` == 'em' and `model.routing.iterations` >= 2"
    assert [*trials(tracking_uri=two_sweeps).query(by_setting)["arm"]] == ["em"]
    missing = trials("known", two_sweeps).query("outcome == 'missing'")
    assert [(*place,) for place in missing[["arm", "seed"]].to_numpy()] == [("late", 0)]
    assert frame.query(by_setting).attrs == frame.attrs


def test_settings_hold_the_split_of_each_seed_and_lists_as_texts(store):
    config = {"model": {"sizes": [8, 16]}, "data": {"kind": "mnist", "split_seed": 0}}
    manifest = manifest_of(["a"], [0, 1])
    arms = tuple(arm.model_copy(update={"config": config}) for arm in manifest.arms)
    splits = manifest.model_copy(update={"arms": arms, "splits": {0: 7, 1: 8}})
    put_sweep(store, splits, [])
    frame = trials("known", store)

    assert [*frame["data.split_seed"]] == [7, 8]
    assert [*frame["model.sizes"]] == ["8 x 16"] * 2
    assert [*frame["data"]] == ["mnist"] * 2


def test_a_stopped_trial_has_what_its_sweep_saw(store):
    manifest = manifest_of(["a"], [0])
    cell = manifest.cells[0].model_copy(update={"stopped": Stopped(epoch=2, value=0.5)})
    trial = finished("a", 0, 6, extra_test_errors={"affine": 0.1})
    put_sweep(store, manifest.model_copy(update={"cells": (cell,)}), [trial])
    frame = trials("known", store)

    assert frame.query("validation_error < 1").empty
    assert [*frame.query("epochs == 2")["outcome"]] == ["pruned"]
    assert "test_error.affine" not in frame
    assert [*curves("known", store)["epoch"]] == [1, 2]
    assert [*all_sweeps(store)["num_finished"]] == [0]


def test_the_trials_that_chose_arms_are_told_from_those_that_compare_them(store):
    manifest, records = confirmed_search()
    put_sweep(store, manifest, records.values())
    tuned = tuned_manifest().model_copy(update={"sweep": "tuned"})
    put_sweep(store, tuned, [])
    put_sweep(store, manifest_of(["a"], [0, 1], sweep="design"), [])

    assert {*trials("known", store).query("chose_arms")["seed"]} == {0}
    fresh = trials("known", store).query("not chose_arms")
    assert {*fresh["seed"]} == {*FRESH}
    means = fresh.groupby("arm")["validation_error"].agg(["mean", "count"])
    best = best_configs("known", store)[0]
    assert tuple(means.loc[best.arm]) == pytest.approx((best.value.mean, len(FRESH)))
    assert {*curves("known", store).query("chose_arms")["seed"]} == {0}

    tunings = trials("tuned", store).query("chose_arms")
    assert {*tunings["seed"]} == {*TUNING_SEEDS}
    assert {*trials("tuned", store).query("not chose_arms")["arm"]} == {*ARMS}
    assert not trials("design", store)["chose_arms"].any(), "nothing is chosen"
    assert trials(tracking_uri=store)["chose_arms"].dtype == "bool"


@pytest.mark.parametrize("frame_of", [trials, curves])
def test_the_filter_of_earlier_versions_is_refused(frame_of, two_sweeps):
    with pytest.raises(BadInput, match=r"filter the frame with pandas, as in sweeps\.trials\(\)"):
        frame_of("known", two_sweeps, where="test_error < 1")


def test_curves_are_a_row_an_epoch_of_each_recorded_trial(two_sweeps):
    frame = curves("known", two_sweeps)

    names = ["train_loss", "validation_loss", "validation_error"]
    assert [*frame.columns] == ["arm", "seed", "trial_key", "chose_arms", "epoch", *names]
    assert len(frame) == 13 * 15 + 4 * 4, "of finished trials and of others"
    first = frame[(frame["arm"] == "uniform") & (frame["seed"] == 2)]
    assert [*first["epoch"]] == [*range(1, 16)]
    assert {*first["validation_error"]} == {12 / 600}
    assert {*first["trial_key"]} == {trial_key("uniform", 2)}
    assert [*curves("known", two_sweeps, metrics="train_loss").columns][5:] == ["train_loss"]
    assert curves(tracking_uri=two_sweeps).columns[0] == "sweep"


def test_curves_have_the_metrics_of_a_sweeps_own_parts(store):
    metrics = (Metric(name="sharpness", unit="nats"), Metric(name="size", moment="end"))
    manifest = manifest_of(["a"], [0], metrics=metrics)
    put_sweep(store, manifest, [finished("a", 0, 6)])
    frame = curves("known", store)

    assert frame["sharpness"].isna().all()
    assert frame.attrs["units"]["sharpness"] == "nats"
    assert "size" not in frame
    with pytest.raises(BadInput, match="'size' is of a trial's end"):
        curves("known", store, metrics=["size"])


@pytest.mark.parametrize(
    ("metrics", "sentence"),
    [
        ("test_error", "'test_error' is of a trial's end"),
        (["valdation_error"], "Did you mean 'validation_error'"),
        ("health.nothing", "'health.nothing' is not known"),
    ],
)
def test_a_metric_that_no_epoch_has_is_refused(metrics, sentence, two_sweeps):
    with pytest.raises(BadInput, match=sentence):
        curves("known", two_sweeps, metrics=metrics)


def test_predictions_of_a_trial_are_those_of_its_images_alone(store, tmp_path):
    put_sweep(store, manifest_of(["a", "b"], [0]), [])
    tensors = {"predictions": np.uint8([1, 2]), "labels": np.uint8([1, 3])}
    (tmp_path / "predictions.safetensors").write_bytes(save(tensors))
    for arm in ("a", "b"):
        record_id = put_trial(store, finished(arm, 0, 0, test_error=0.5))
        store.writer().upload(record_id, tmp_path / "predictions.safetensors")
    frame = predictions(trial_key("b", 0)[:8], store)

    assert [*frame["arm"]] == ["b", "b"]
    assert [*frame.columns] == [*predictions("known", store).columns]
    with pytest.raises(BadInput, match="There is no trial 'abc'"):
        predictions("abc", store)
    with pytest.raises(BadInput, match="Did you mean 'known'"):
        predictions("knwon", store)


def test_predictions_name_classes_and_files_where_the_record_has_them(store, tmp_path):
    put_sweep(store, manifest_of(["a", "b", "c"], [0]), [])
    of_one = {"predictions": np.uint8([1, 2]), "labels": np.uint8([1, 0])}
    of_several = {"predictions": np.uint8([[1, 1], [0, 0]]), "labels": np.uint8([[1, 1], [0, 1]])}
    named = {
        "class_names": np.frombuffer(b"cat\nsea owl", np.uint8),
        "files": np.frombuffer(b"owl/1.png\ncat/2.png", np.uint8),
    }
    for arm, tensors in (("a", of_one), ("b", of_one | named), ("c", of_several | named)):
        (tmp_path / "predictions.safetensors").write_bytes(save(tensors))
        record_id = put_trial(store, finished(arm, 0, 0, test_error=0.5))
        store.writer().upload(record_id, tmp_path / "predictions.safetensors")
    before, single, several = (predictions(trial_key(arm, 0), store) for arm in "abc")

    assert not {"file", "label_name", "prediction_name"} & {*before.columns}, "an earlier record"
    assert [*single["file"]] == ["owl/1.png", "cat/2.png"]
    assert [*single["label_name"]] == ["sea owl", "cat"]
    assert [*single["prediction_name"]] == ["sea owl", "2"], "a class without a name"
    assert [*several["label_name"]] == ["cat, sea owl", "sea owl"]
    assert [*several["prediction_name"]] == ["cat, sea owl", ""]
    assert predictions("known", store)["file"].isna().tolist() == [True] * 2 + [False] * 4


def test_evaluations_are_a_row_a_metric_with_a_column_a_coordinate(store):
    curve = curve_evaluation((0, 1, 3))
    belief = ManifestEvaluation(
        evaluation_key="cd" * 10, kind="belief", looks_at="test", metrics=(Metric(name="mean"),)
    )
    declared = [evaluation.model_dump() for evaluation in (curve, belief)]
    put_sweep(store, manifest_of(["a", "b"], [0, 1], evaluations=declared), [])
    record_id, writer = put_trial(store, finished("b", 1, 0)), store.writer()
    for evaluation in (curve, belief):
        values = {
            evaluation_metric(evaluation.kind, evaluation.evaluation_key, metric.name): 0.25
            for metric in evaluation.metrics
        }
        writer.log_metrics(record_id, values, 7, 0)
        writer.record_evaluation(record_id, evaluation.evaluation_key, evaluation.kind)

    frame = evaluations("known", store)

    assert {*frame["arm"]} == {"b"}
    assert [*frame["metric"]] == ["error.shift_0", "error.shift_1", "error.shift_3", "mean"]
    assert [*frame["shift"][:3]] == [0, 1, 3]
    assert np.isnan(frame["shift"][3])
    assert frame.attrs["units"]["shift"] == "pixels"
    assert [*frame.columns][2:4] == ["trial_key", "chose_arms"]
    assert not frame["chose_arms"].any()
    put_sweep(store, manifest_of(["a"], [0], sweep="none"), [])
    assert evaluations("none", store).empty


def test_a_sweep_whose_name_could_begin_a_trial_key_is_the_sweep(store):
    put_sweep(store, manifest_of(["a"], [0], sweep="ab"), [])

    assert predictions("ab", store).empty


def test_sweeps_are_a_row_each_with_counts_and_the_best(two_sweeps):
    frame = all_sweeps(two_sweeps).set_index("sweep")

    assert [*frame.index] == ["known", "other"]
    known = frame.loc["known"]
    counts = ("num_arms", "num_cells", "num_finished", "num_diverged", "num_failed")
    assert [known[name] for name in counts] == [6, 18, 13, 1, 1]
    best = sweeps.best_configs("known", two_sweeps)[0]
    assert (known["best_arm"], known["best"]) == (best.arm, best.value.mean)
    assert np.isnan(known["best_low"]), "there are no predictions"
    assert known["kind"] == "design"


def test_an_empty_store_has_frames_with_columns(store):
    assert all_sweeps(store).empty
    assert trials(tracking_uri=store).empty
    assert "arm" in trials(tracking_uri=store)
    assert "epoch" in curves(tracking_uri=store)


def test_every_number_of_a_public_frame_has_a_unit_or_can_have_none(two_sweeps):
    frames = [
        trials("known", two_sweeps),
        trials(tracking_uri=two_sweeps),
        curves("known", two_sweeps),
        predictions("known", two_sweeps),
        all_sweeps(two_sweeps),
    ]
    for frame in frames:
        numbers = {*frame.select_dtypes("number").columns} - UNITLESS
        assert numbers - {"batch_size", "model.routing.iterations", "setting.epochs"} <= {
            *frame.attrs["units"]
        }
    units = frames[0].attrs["units"]
    assert units["test_error"] == "fraction"
    assert units["peak_memory_bytes"] == "bytes"
    assert frames[-1].attrs["units"]["best"] == "fraction"
    assert isinstance(pd.concat(frames[:1]).attrs["units"], dict)
