"""Evaluations of trials whose value on each image is known."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capsmodel.metrics import Metric, curve_points
from sweeps.aggregation.results.predictions import WrongImages
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.aggregation.known_sweep import trial_key

Values = Mapping[str, Sequence[Sequence[np.ndarray]]]
ERROR = Metric(name="error", unit="fraction", split="test", moment="end")


def curve_evaluation(
    places: Sequence[float] = (0, 1, 3), digits: str = "ab", **more: Any
) -> ManifestEvaluation:
    """Return an evaluation whose primary figure is the mean under a curve over the shift."""
    return ManifestEvaluation(
        evaluation_key=digits * 10,
        kind="moved",
        looks_at="test",
        metrics=curve_points(ERROR, "shift", places, "pixels"),
        primary="error",
        **more,
    )


def evaluated(
    trials: Mapping[str, TrialRecord],
    values: Mapping[str, Values],
    *evaluations: ManifestEvaluation,
) -> tuple[dict[str, TrialRecord], WrongImages]:
    """Return records with evaluations, and their values by image.

    Args:
        trials: By trial key.
        values: Kind of an evaluation -> arm -> for each seed from 0 its values, a row a metric.
        evaluations: Each of another kind.
    """
    wrong: dict[str, dict[str, dict[str, np.ndarray]]] = {}
    records = dict(trials)
    for evaluation in evaluations:
        for arm, seeds in values[evaluation.kind].items():
            for seed, rows in enumerate(seeds):
                key = trial_key(arm, seed)
                by_name = {m.name: row for m, row in zip(evaluation.metrics, rows, strict=True)}
                wrong.setdefault(key, {})[evaluation.evaluation_key] = by_name
                record = records[key]
                means = {name: float(row.mean()) for name, row in by_name.items()}
                recorded = {**record.evaluations, evaluation.evaluation_key: means}
                records[key] = record.model_copy(update={"evaluations": recorded})
    return records, wrong
