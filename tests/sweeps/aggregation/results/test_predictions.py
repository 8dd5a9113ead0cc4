"""Predictions as they lie beside records: read, or said to be missing, never half believed."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from sweeps.aggregation.results.prediction_files import read_predictions
from sweeps.records.trial_record import TrialRecord
from sweeps.tracking.memory_store import MemoryStore
from tests.sweeps.aggregation.known_sweep import finished, put_trial

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
    ],
    ids=["empty", "noise", "half", "short", "numbers", "deep", "other error", "nothing", "objects"],
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
