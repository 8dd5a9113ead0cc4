"""Predictions of trials whose wrong images are known."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sweeps.aggregation.results.predictions import Predictions, SplitPredictions
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.aggregation.known_sweep import IMAGES, finished, trial_key

Wrong = Mapping[str, Sequence[Iterable[int]]]
CLASSES = 10


def judged(wrong: Iterable[int], objects: Sequence[int] | None = None) -> SplitPredictions:
    """Return images that a network gets right but for some, by their places."""
    labels = (np.arange(IMAGES) % CLASSES).astype(np.uint8)
    classes = labels.copy()
    for place in wrong:
        classes[place] = (classes[place] + 1) % CLASSES
    return SplitPredictions(classes, labels, None if objects is None else np.asarray(objects))


def predictions_of(
    wrong: Wrong, fingerprint: str = "data", objects: Sequence[int] | None = None
) -> dict[str, Predictions]:
    """Return what trials predicted: arm -> for each seed from 0 the places of its wrong images."""
    return {
        trial_key(arm, seed): Predictions(fingerprint, judged(places, objects))
        for arm, seeds in wrong.items()
        for seed, places in enumerate(seeds)
    }


def trials_of(wrong: Wrong) -> list[TrialRecord]:
    """Return the records of the same trials."""
    return [
        finished(arm, seed, len(list(places)))
        for arm, seeds in wrong.items()
        for seed, places in enumerate(seeds)
    ]
