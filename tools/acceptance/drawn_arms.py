"""Arms whose networks err on given images, as the product reads them from a store."""

from collections.abc import Mapping
from hashlib import sha256

import numpy as np
from jaxtyping import Bool

from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.predictions import Predictions, SplitPredictions
from sweeps.records.manifest import ManifestArm
from sweeps.records.trial_record import Outcome, TrialRecord

BASELINE = "base"
CLASSES = 10
NONE_LOST: Mapping[int, Outcome] = {}


def drawn_arm(
    name: str,
    wrong: Bool[np.ndarray, "seeds images"],
    lost: Mapping[int, Outcome] = NONE_LOST,
) -> ArmResults:
    """Return the results of an arm.

    Args:
        name: `BASELINE` for the baseline.
        wrong: Whether the network of each seed errs on each image.
        lost: How the trials ended that have no result, by seed.
    """
    trials = {
        seed: _record(name, seed, row, lost.get(seed, Outcome.FINISHED))
        for seed, row in enumerate(wrong)
    }
    arm = ManifestArm(name=name, config={}, num_parameters=0)
    return ArmResults(arm, name == BASELINE, {**trials})


def drawn_predictions(
    arms: Mapping[str, Bool[np.ndarray, "seeds images"]],
) -> dict[str, Predictions]:
    """Return the predictions of the networks of several arms, by trial key."""
    predictions = dict[str, Predictions]()
    for name, arm in arms.items():
        for seed, wrong in enumerate(arm):
            labels = (np.arange(len(wrong)) % CLASSES).astype(np.uint8)
            classes = np.where(wrong, (labels + 1) % CLASSES, labels).astype(np.uint8)
            predictions[_key(name, seed)] = Predictions("drawn", SplitPredictions(classes, labels))
    return predictions


def _record(
    name: str, seed: int, wrong: Bool[np.ndarray, " images"], outcome: Outcome
) -> TrialRecord:
    losses = np.flatnonzero(wrong)
    metrics = {"train_loss": float(losses.sum()), "validation_loss": float((losses**2).sum())}
    if outcome is Outcome.FINISHED:
        error = float(wrong.mean())
        metrics |= {"validation_error": error, "test_error": error}
    return TrialRecord(
        record_id=_key(name, seed),
        trial_key=_key(name, seed),
        outcome=outcome,
        sweep="drawn",
        arm=name,
        seed=seed,
        epochs=1,
        num_parameters=0,
        metrics=metrics,
    )


def _key(name: str, seed: int) -> str:
    return sha256(f"{name}/{seed}".encode()).hexdigest()[:20]
