"""A small sweep whose trials hold predictions, so that its differences can be tested."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sweeps.aggregation.results.predictions import Predictions, SplitPredictions
from sweeps.aggregation.results.sweep_results import Results
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.aggregation.known_sweep import IMAGES, by_key, finished, manifest_of

LABELS = np.arange(IMAGES, dtype=np.uint8) % 10
WRONG = {"plain": (6, 7, 8), "worse": (66, 70, 71), "like it": (8, 6, 8)}


def judged_results(
    wrong: Mapping[str, Sequence[int]] = WRONG, manifest: Manifest | None = None, **more: Any
) -> Results:
    """Return results of arms whose trials err on the first so many images."""
    trials = by_key(
        *(finished(arm, seed, n) for arm, row in wrong.items() for seed, n in enumerate(row))
    )
    counts = {
        trial.trial_key: wrong[trial.arm][trial.seed]
        for trial in trials.values()
        if trial.is_counted
    }

    def find(records: Iterable[TrialRecord]) -> dict[str, Predictions]:
        return {record.trial_key: predictions(counts[record.trial_key]) for record in records}

    return Results(manifest or manifest_of(wrong, **more), trials, no_histories, find)


def predictions(num_wrong: int) -> Predictions:
    classes = LABELS.copy()
    classes[:num_wrong] = (classes[:num_wrong] + 1) % 10
    return Predictions("data", SplitPredictions(classes, LABELS))


def no_histories(records: Iterable[TrialRecord], metric: str) -> dict[str, dict[int, float]]:
    return {}
