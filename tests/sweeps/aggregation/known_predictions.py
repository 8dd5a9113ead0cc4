"""Predictions of networks that err on as many test images as their records say."""

from collections.abc import Mapping

import numpy as np

from sweeps.aggregation.results.predictions import Predictions, SplitPredictions
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.aggregation.known_sweep import IMAGES


def predictions_of(records: Mapping[str, TrialRecord], shift: int = 0) -> dict[str, Predictions]:
    """Return what counted trials predicted: each errs on images that its seed has drawn."""
    predictions = {}
    for key, trial in records.items():
        if trial.is_counted:
            labels = np.arange(IMAGES, dtype=np.uint8) % 10
            classes = labels.copy()
            chance = np.random.default_rng(trial.seed + shift)
            wrong = chance.permutation(IMAGES)[: round((trial.test_error or 0) * IMAGES)]
            classes[wrong] = (labels[wrong] + 1) % 10
            predictions[key] = Predictions(
                trial.data_fingerprint, SplitPredictions(classes, labels)
            )
    return predictions
