"""Predictions as they lie beside records: read, or said to be missing, never half believed."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from capsmodel.metrics import Metric
from sweeps.aggregation.results.prediction_files import read_predictions, read_wrong_images
from sweeps.aggregation.results.predictions import SplitPredictions
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.aggregation.known_sweep import finished, put_trial, with_metrics
from tests.sweeps.tracking.memory_store import MemoryStore

LABELS = (np.arange(20) % 10).astype(np.uint8)
CLASSES = np.where(np.arange(20) < 5, LABELS + 1, LABELS).astype(np.uint8)  # 5 of 20 are wrong


def stored(
    tmp_path: Path, tensors: Mapping[str, np.ndarray] | bytes
) -> tuple[MemoryStore, TrialRecord]:
    store = MemoryStore()
    record_id = put_trial(store, finished("arm", 0, 0, test_error=0.25))
    content = tensors if isinstance(tensors, bytes) else save(dict(tensors))
    path = tmp_path / "predictions.safetensors"
    path.write_bytes(content)
    store.writer().upload(record_id, path)
    return store, store.find(record_id)


def test_what_a_trial_predicted_is_read_with_its_objects_and_validation(tmp_path: Path) -> None:
    tensors = {"predictions": CLASSES, "labels": LABELS, "objects": np.arange(20) // 4}
    more = {"validation_predictions": LABELS[:7], "validation_labels": LABELS[:7]}
    store, record = stored(tmp_path, tensors | more)
    predicted = read_predictions(store, [record])[record.trial_key]
    assert predicted.test.is_wrong.sum() == 5
    assert predicted.test.objects is not None
    assert predicted.validation is not None
    assert len(predicted.validation.labels) == 7


def test_what_a_trial_predicted_of_an_extra_test_is_read_if_it_gives_the_recorded_error(
    tmp_path: Path,
) -> None:
    tensors = {"predictions": CLASSES, "labels": LABELS}
    extra = {f"test.familiar.{name}": values for name, values in tensors.items()}
    store, record = stored(tmp_path, tensors | extra)
    assert read_predictions(store, [record])[record.trial_key].extra_tests == {}

    as_recorded = with_metrics(record, **{"test_error.familiar": 0.25})
    (predicted,) = read_predictions(store, [as_recorded]).values()
    assert predicted.extra_tests["familiar"].is_wrong.sum() == 5
    assert read_predictions(store, [with_metrics(record, **{"test_error.familiar": 0.5})]) == {}


def test_the_values_of_images_are_read_if_they_give_the_evaluations_metric(tmp_path: Path) -> None:
    key, names = "ab" * 10, ("share", "none", "other", "belief", "loss", "outside")
    evaluation = ManifestEvaluation(
        evaluation_key=key,
        kind="mine",
        looks_at="test",
        metrics=tuple(
            Metric(name=name, unit="nats" if name == "loss" else "fraction", moment="end")
            for name in names
        ),
    )
    wrong = np.arange(20) < 5
    by_image = {
        "share": wrong.astype(np.uint8),
        "other": wrong.astype(np.uint8),
        "belief": np.full(20, 0.25),
        "loss": np.ones(20),
        "outside": np.where(np.arange(20) == 0, 5.0, 0.0),
    }
    store, record = MemoryStore(), finished("arm", 0, 0)
    record_id = put_trial(store, record)
    path = tmp_path / f"{key}.safetensors"
    path.write_bytes(save(by_image))
    store.writer().upload(record_id, path)
    values = {"share": 0.25, "none": 0.25, "other": 0.3, "belief": 0.25, "loss": 1.0}
    values["outside"] = 0.25
    record = store.find(record_id).model_copy(update={"evaluations": {key: values}})

    ((_, by_key),) = read_wrong_images(store, [record], [evaluation]).items()
    assert [*by_key[key]] == ["share", "belief"]
    assert by_key[key]["share"].sum() == 5
    path.write_bytes(b"damaged")
    store.writer().upload(record_id, path)
    assert read_wrong_images(store, [record], [evaluation]) == {}


@pytest.mark.parametrize(
    "tensors",
    [
        b"",
        b"\xff" * 100,
        {"labels": LABELS},
        {"predictions": CLASSES, "labels": LABELS[:19]},
        {"predictions": CLASSES.astype(np.float32), "labels": LABELS},
        {"predictions": CLASSES[:, None], "labels": LABELS[:, None]},
        {"predictions": LABELS, "labels": LABELS},
        {"predictions": LABELS[:0], "labels": LABELS[:0]},
        {"predictions": CLASSES, "labels": LABELS, "objects": np.arange(3)},
        {"predictions": CLASSES, "labels": LABELS, "files": np.frombuffer(b"one.png", np.uint8)},
    ],
    ids=[
        "empty",
        "noise",
        "half",
        "short",
        "numbers",
        "deep",
        "other_error",
        "nothing",
        "objects",
        "files",
    ],
)
def test_a_file_that_cannot_be_of_the_trial_counts_as_not_there(
    tmp_path: Path, tensors: Mapping[str, np.ndarray] | bytes
) -> None:
    store, record = stored(tmp_path, tensors)
    assert read_predictions(store, [record]) == {}


def test_a_trial_without_a_file_has_none() -> None:
    store = MemoryStore()
    record = store.find(put_trial(store, finished("arm", 0, 5)))
    assert read_predictions(store, [record]) == {}


def test_the_first_images_have_the_errors_of_their_task() -> None:
    errors, labels = np.array([0.5, 0.0, 1.0]), np.zeros(3, dtype=np.uint8)
    first = SplitPredictions(labels, labels, task_errors=errors).first(2)
    assert first is not None
    assert first.errors.tolist() == [0.5, 0.0]
