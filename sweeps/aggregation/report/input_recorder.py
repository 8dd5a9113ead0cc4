"""The curves and predictions that a report reads from the store, and the digest of all inputs."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sweeps.aggregation.results.predictions import Predictions, SplitPredictions, WrongImages
from sweeps.aggregation.results.sweep_results import FoundArrays, Histories, Results
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import (
    EPOCH_METRICS,
    METRIC_EXTRA_TEST_ERRORS,
    METRIC_TEST_ERROR,
    TrialRecord,
)


@dataclass(frozen=True)
class InputRecorder:
    """Reads curves and predictions for a report and remembers them.

    Attributes:
        results: Where they come from.
        curves: Metric -> trial key -> epoch -> value, of all that was asked for.
        predicted: Trial key -> predictions, of all that was asked for and is there.
        wrong: The same of the images that count in shares of evaluations.
        arrays_read: Evaluation key -> trial key -> the arrays that it found.
    """

    results: Results
    curves: dict[str, dict[str, Mapping[int, float]]] = field(default_factory=dict)
    predicted: dict[str, Predictions] = field(default_factory=dict)
    wrong: dict[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    arrays_read: dict[str, dict[str, Mapping[str, Any]]] = field(default_factory=dict)

    def histories(self, trials: Iterable[TrialRecord], metric: str) -> Histories:
        """Return one epoch metric of some trials. Each curve is read from the store once."""
        wanted = list(trials)
        known = self.curves.setdefault(metric, {})
        if new := [trial for trial in wanted if trial.trial_key not in known]:
            known |= self.results.histories(new, metric)
        keys = [trial.trial_key for trial in wanted]
        return {key: known[key] for key in keys if key in known}

    def predictions(self, trials: Iterable[TrialRecord]) -> Mapping[str, Predictions]:
        """Return the predictions of some trials."""
        predictions = self.results.find_predictions(trials)
        self.predicted.update(predictions)
        return predictions

    def wrong_images(self, trials: Iterable[TrialRecord]) -> WrongImages:
        """Return which images count in the evaluations' shares."""
        wrong = self.results.find_wrong_images(trials)
        self.wrong.update(wrong)
        return wrong

    def arrays(self, trials: Iterable[TrialRecord], evaluation_key: str) -> FoundArrays:
        """Return the arrays that an evaluation found of some trials."""
        arrays = self.results.find_arrays(trials, evaluation_key)
        self.arrays_read.setdefault(evaluation_key, {}).update(arrays)
        return arrays

    def digest(self) -> str:
        """Return the SHA-256 of the manifest, the records and all that was read so far."""
        manifest = self.results.manifest
        counted = {cell.trial_key for cell in manifest.cells if cell.stopped is None}
        records = {k: _record(r, manifest) for k, r in self.results.records.items() if k in counted}
        stops = {cell.trial_key: cell.stopped.epoch for cell in manifest.cells if cell.stopped}
        curves = {
            metric: {key: _curve(curve, stops.get(key)) for key, curve in by_key.items()}
            for metric, by_key in self.curves.items()
        }
        inputs = {
            "manifest": manifest.model_dump(mode="json"),
            "records": records,
            "curves": curves,
            "predictions": {
                key: _predictions(predictions) for key, predictions in self.predicted.items()
            },
            **({"wrong": _wrong(self.wrong)} if self.wrong else {}),
            **({"arrays": _arrays(self.arrays_read)} if any(self.arrays_read.values()) else {}),
            **({"earlier": num} if (num := self.results.num_earlier_sweeps) else {}),
        }
        text = json.dumps(inputs, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def _curve(curve: Mapping[int, float], stop: int | None) -> list[tuple[int, float]]:
    """Return a curve in order, up to where the trial stopped: another sweep may resume it."""
    return sorted((epoch, value) for epoch, value in curve.items() if not stop or epoch <= stop)


def _record(record: TrialRecord, manifest: Manifest) -> dict[str, Any]:
    """Return the parts of a record that decide results: no machine, id or time."""
    names = {*EPOCH_METRICS, METRIC_TEST_ERROR, *(metric.name for metric in manifest.metrics)}
    declared = {evaluation.evaluation_key for evaluation in manifest.evaluations}
    metrics = {
        name: value
        for name, value in record.metrics.items()
        if name in names or name.startswith(METRIC_EXTRA_TEST_ERRORS)
    }
    return {
        "outcome": record.outcome.value,
        "reason": record.reason,
        "epochs": record.epochs,
        "target": record.target,
        "warnings": record.warnings,
        "data": record.data_fingerprint,
        **({"images": record.num_images} if record.num_images else {}),
        **({"notes": record.data_notes} if record.data_notes else {}),
        "metrics": metrics,
        "evaluations": {k: v for k, v in record.evaluations.items() if k in declared},
    }


def _predictions(predictions: Predictions) -> list[str]:
    """Return the digests of the predictions of all images."""
    extra = (predictions.extra_tests[name] for name in sorted(predictions.extra_tests))
    splits = (predictions.test, predictions.validation, *extra)
    return [_judged(split) for split in splits if split is not None]


def _wrong(wrong: WrongImages) -> dict[str, Any]:
    return {
        trial: {
            evaluation: {name: _digest([values]) for name, values in by_name.items()}
            for evaluation, by_name in by_evaluation.items()
        }
        for trial, by_evaluation in wrong.items()
    }


def _arrays(arrays_read: Mapping[str, FoundArrays]) -> dict[str, Any]:
    return {
        evaluation: {
            trial: {name: _digest([values.reshape(-1)]) for name, values in arrays.items()}
            for trial, arrays in by_trial.items()
        }
        for evaluation, by_trial in arrays_read.items()
    }


def _judged(judged: SplitPredictions) -> str:
    arrays: Sequence[Any] = [judged.classes, judged.labels]
    if judged.objects is not None:
        arrays = [*arrays, judged.objects]
    if judged.task_errors is not None:
        arrays = [*arrays, judged.task_errors * 2**32]
    return _digest(arrays)


def _digest(arrays: Sequence[Any]) -> str:
    hashed = hashlib.sha256()
    for values in arrays:
        kind = "<f8" if values.dtype.kind == "f" else "<i8"
        hashed.update(b"%d," % len(values) + values.astype(kind).tobytes())
    return hashed.hexdigest()
