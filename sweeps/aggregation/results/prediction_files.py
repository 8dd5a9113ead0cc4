"""The predictions of finished trials, read from the files of their records."""

import logging
from collections.abc import Iterable, Mapping

import numpy as np

from sweeps.aggregation.results.predictions import Predictions, SplitPredictions
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import ARTIFACT_PREDICTIONS, TrialRecord
from sweeps.storage.regular_files import read_regular
from sweeps.tracking.store import RecordStore

_LOG = logging.getLogger(__name__)
_MOST_BYTES = 2**30  # a hundred million images
_ROUNDING = 1e-9


def read_predictions(store: RecordStore, records: Iterable[TrialRecord]) -> dict[str, Predictions]:
    """Return the predictions of those trials that have any: trial key -> predictions.

    Files that are damaged, or that do not give the recorded error, count as missing.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    predictions: dict[str, Predictions] = {}
    for record in records:
        try:
            content = read_regular(store.artifact(record, ARTIFACT_PREDICTIONS), _MOST_BYTES)
            predictions[record.trial_key] = _predictions(content, record)
        except (BadInput, ValueError, OSError) as error:
            _LOG.debug("no predictions of trial %s: %s", record.trial_key, error)
    return predictions


def _predictions(content: bytes, record: TrialRecord) -> Predictions:
    """Return what a file holds.

    Raises:
        ValueError: If it is damaged, or of another trial.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors = load(content)
    except (SafetensorError, KeyError) as error:
        raise ValueError(str(error)) from error
    test = _judged(tensors, "", record.test_error)
    validation = None
    if "validation_predictions" in tensors:
        validation = _judged(tensors, "validation_", record.validation_error)
    return Predictions(record.data_fingerprint, test, validation)


def _judged(tensors: Mapping[str, np.ndarray], split: str, error: float | None) -> SplitPredictions:
    """Return the images of a split.

    Raises:
        ValueError: If they are missing, or do not give the recorded error.
    """
    names = [f"{split}{name}" for name in ("predictions", "labels", "objects")]
    if missing := [name for name in names[:2] if name not in tensors]:
        raise ValueError(f"there are no {missing[0]}")
    classes, labels, objects = (tensors.get(name) for name in names)
    assert classes is not None
    assert labels is not None
    for values in (classes, labels, *([] if objects is None else [objects])):
        if values.ndim != 1 or len(values) != len(labels) or values.dtype.kind not in "iu":
            raise ValueError("they are no whole numbers, one an image")
    judged = SplitPredictions(classes, labels, objects)
    if not len(labels) or error is None or abs(judged.is_wrong.mean() - error) > _ROUNDING:
        raise ValueError(f"they do not give the recorded error {error}")
    return judged
