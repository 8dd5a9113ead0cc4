"""The confidence of a ranking: each arm's chance of being best, and which may be as good."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sweeps.aggregation.results.predictions import Predictions, SplitPredictions
from sweeps.aggregation.results.ranking import RankedArm
from sweeps.aggregation.statistics.best import chances_of_best, indistinguishable_from
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS

MOST_ARMS = 50  # the first of a ranking: arms below them have no chance worth mentioning


@dataclass(frozen=True)
class RankConfidence:
    """The confidence in an arm's rank, by its validation images.

    Attributes:
        chance_of_best: How often it would rank first if seeds and validation images were resampled.
        may_be_best: Whether it cannot be distinguished from the first, at 95 % for all arms at
            once. Nothing is known of an arm without a value of this class.
    """

    chance_of_best: float
    may_be_best: bool


def rank_confidences(
    ranked: Sequence[RankedArm], predictions: Mapping[str, Predictions]
) -> dict[str, RankConfidence]:
    """Return the confidence in the ranks of arms: name -> confidence.

    It is known for those of the first fifty arms that have validation predictions of the same
    images for all seeds of the first arm. It is empty if the first arm lacks predictions, has fewer
    than three seeds, or has no rival, and over splits, whose validation images differ.

    Args:
        ranked: The best first, ranked by validation error.
        predictions: Predictions by trial key.
    """
    if not ranked or ranked[0].arm.splits:
        return {}
    first = _judged(ranked[0], predictions)
    seeds, shown = [*first], [*first.values()]
    alike: dict[str, dict[int, SplitPredictions]] = {}
    for arm in ranked[:MOST_ARMS]:
        judged = _judged(arm, predictions)
        is_alike = arm.arm.arm.config.get("data") == ranked[0].arm.arm.config.get("data")
        if is_alike and all(
            seed in judged and judged[seed].shows_the_same(shown[0]) for seed in seeds
        ):
            alike[arm.arm.arm.name] = judged
    is_whole = seeds == sorted(ranked[0].arm.trials)
    if not is_whole or len(seeds) < FEWEST_SEEDS or len(alike) < 2:
        return {}
    wrong = np.stack([[judged[seed].is_wrong for seed in seeds] for judged in alike.values()])
    chances = chances_of_best(wrong, shown[0].objects)
    may_be = indistinguishable_from(0, [*wrong.astype(float)], shown[0].objects)
    rows = zip(alike, chances, may_be, strict=True)
    return {name: RankConfidence(float(chance), may) for name, chance, may in rows}


def _judged(arm: RankedArm, predictions: Mapping[str, Predictions]) -> dict[int, SplitPredictions]:
    """Return the validation predictions of the arm's trials, by seed."""
    trials = {seed: trial for seed, trial in arm.arm.trials.items() if seed in arm.values}
    predicted = {
        seed: predictions[trial.trial_key]
        for seed, trial in trials.items()
        if trial is not None and trial.trial_key in predictions
    }
    return {
        seed: one.validation
        for seed, one in sorted(predicted.items())
        if one.validation is not None
    }
