"""The predictions of finished trials, read from the files of their records."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from sweeps.aggregation.results.class_names import class_names_in, texts_in
from sweeps.aggregation.results.predictions import Predictions, SplitPredictions, WrongImages
from sweeps.records.errors import BadInput
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.trial_record import ARTIFACT_PREDICTIONS, TrialRecord
from sweeps.storage.folder import read_named_file
from sweeps.tracking.store import RecordStore

_LOG = logging.getLogger(__name__)
_MOST_BYTES = 2**30  # a hundred million images
_ROUNDING = 1e-9
_ROUNDING_OF_FRACTIONS = 1e-6  # a training adds up the validation images' in single precision


def read_predictions(store: RecordStore, records: Iterable[TrialRecord]) -> dict[str, Predictions]:
    """Return the predictions of those trials that have any: trial key -> predictions.

    Files that are damaged, or that do not give the recorded error, count as missing.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    by_key = {record.trial_key: record for record in records}
    predictions: dict[str, Predictions] = {}
    for key, path in store.artifacts(by_key.values(), ARTIFACT_PREDICTIONS).items():
        if predicted := predictions_in(path, by_key[key]):
            predictions[key] = predicted
    return predictions


def predictions_in(path: Path, record: TrialRecord) -> Predictions | None:
    """Return what a file says that a trial predicted; None if it is damaged or of another trial."""
    try:
        return _predictions(read_named_file(path, _MOST_BYTES), record)
    except (BadInput, ValueError, OSError) as error:
        _LOG.debug("no predictions of trial %s: %s", record.trial_key, error)
        return None


def read_wrong_images(
    store: RecordStore, records: Iterable[TrialRecord], evaluations: Sequence[ManifestEvaluation]
) -> WrongImages:
    """Return the values by image of metrics of evaluations that are means over images.

    They have the metric's name, lie in [0, 1], and their mean is the metric. Files that are
    damaged, or that do not give the recorded metric, count as missing.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    by_key = {record.trial_key: record for record in records}
    wrong: dict[str, dict[str, dict[str, np.ndarray]]] = {}
    for evaluation in evaluations:
        key = evaluation.evaluation_key
        names = [metric.name for metric in evaluation.metrics if metric.is_fraction]
        values = {trial: record.evaluations.get(key, {}) for trial, record in by_key.items()}
        evaluated = [
            by_key[trial] for trial in by_key if any(name in values[trial] for name in names)
        ]
        for trial, path in store.artifacts(evaluated, f"{key}.safetensors").items():
            if (images := images_in(path, evaluation, values[trial])) is not None:
                wrong.setdefault(trial, {})[key] = images
    return wrong


def images_in(
    path: Path, evaluation: ManifestEvaluation, values: Mapping[str, float]
) -> dict[str, np.ndarray] | None:
    """Return the values by image of an evaluation's shares; None if the file is damaged.

    Args:
        path: The evaluation's file.
        evaluation: Its metrics.
        values: The metrics of the trial, which the values have to give as their means.
    """
    try:
        tensors = _tensors(read_named_file(path))
    except (BadInput, ValueError, OSError) as error:
        _LOG.debug("no values by image in %s: %s", path, error)
        return None
    return {
        metric.name: tensors[metric.name]
        for metric in evaluation.metrics
        if metric.is_fraction
        and metric.name in values
        and _is_share(tensors.get(metric.name), values[metric.name])
    }


def read_arrays(
    store: RecordStore, records: Iterable[TrialRecord], evaluation_key: str
) -> dict[str, dict[str, np.ndarray]]:
    """Return the arrays that an evaluation found: trial key -> name -> array.

    Files that are damaged count as missing.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    evaluated = [record for record in records if evaluation_key in record.evaluations]
    arrays: dict[str, dict[str, np.ndarray]] = {}
    for trial, path in store.artifacts(evaluated, f"{evaluation_key}.safetensors").items():
        try:
            arrays[trial] = _tensors(read_named_file(path))
        except (BadInput, ValueError, OSError) as error:
            _LOG.debug("no arrays of %s of %s: %s", evaluation_key, trial, error)
    return arrays


def _is_share(by_image: np.ndarray | None, share: float) -> bool:
    """Return whether values lie in [0, 1], one an image, and their mean is a share."""
    if by_image is None or by_image.ndim != 1 or not len(by_image):
        return False
    return (
        bool(((by_image >= 0) & (by_image <= 1)).all())
        and abs(by_image.mean() - share) <= _ROUNDING
    )


def _tensors(content: bytes) -> dict[str, np.ndarray]:
    """Return what a safetensors file holds.

    Raises:
        ValueError: If it is damaged.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return load(content)
    except (SafetensorError, KeyError) as error:
        raise ValueError(str(error)) from error


def _predictions(content: bytes, record: TrialRecord) -> Predictions:
    """Return what a file holds.

    Raises:
        ValueError: If it is damaged, or of another trial.
    """
    tensors = _tensors(content)
    test = _judged(tensors, "", record.test_error)
    validation = None
    if "validation_predictions" in tensors:
        validation = _judged(tensors, "validation_", record.validation_error)
    extra_tests = {
        name: _judged(tensors, f"test.{name}.", error)
        for name, error in record.extra_test_errors.items()
        if f"test.{name}.predictions" in tensors
    }
    names = class_names_in(tensors)
    return Predictions(record.data_fingerprint, test, validation, extra_tests, names)


def _judged(tensors: Mapping[str, np.ndarray], split: str, error: float | None) -> SplitPredictions:
    """Return the images of a split.

    Raises:
        ValueError: If they are missing, or do not give the recorded error.
    """
    names = [f"{split}{name}" for name in ("predictions", "labels", "objects", "errors")]
    if missing := [name for name in names[:2] if name not in tensors]:
        raise ValueError(f"there are no {missing[0]}")
    classes, labels, objects, errors = (tensors.get(name) for name in names)
    assert classes is not None
    assert labels is not None
    arrays = [classes, labels, *([] if objects is None else [objects])]
    if any(len(array) != len(labels) or array.dtype.kind not in "iu" for array in arrays):
        raise ValueError("they are no whole numbers, one an image")
    is_row = labels.ndim == 1 or (labels.ndim == 2 and labels.shape[1] > 1)
    if classes.shape != labels.shape or not is_row or any(array.ndim != 1 for array in arrays[2:]):
        raise ValueError("there is not one prediction for each label")
    files = texts_in(tensors, f"{split}files")
    if files and len(files) != len(labels):
        raise ValueError("there is not one file for each label")
    judged = SplitPredictions(classes, labels, objects, errors, files)
    rounding = _ROUNDING if errors is None else _ROUNDING_OF_FRACTIONS
    if not len(labels) or error is None or abs(judged.errors.mean() - error) > rounding:
        raise ValueError(f"they do not give the recorded error {error}")
    return judged
