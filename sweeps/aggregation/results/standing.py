"""How sure a ranking is: each arm's chance of being best, and which the best is not told from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sweeps.aggregation.results.judged import Judged, Predictions
from sweeps.aggregation.results.ranking import RankedArm
from sweeps.aggregation.statistics.best import chances_of_best, not_told_from
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS

MOST_ARMS = 50  # of a ranking, the first: what stands below them has no chance to speak of


@dataclass(frozen=True)
class Standing:
    """How sure it is where an arm stands, by its validation images.

    Attributes:
        chance_of_best: How often it would stand first, were seeds and validation images drawn anew.
        may_be_best: Whether it cannot be told from the first, for all of them together at 95 %.
            An arm without a standing was not compared: nothing is known of it.
    """

    chance_of_best: float
    may_be_best: bool


def standings(
    ranked: Sequence[RankedArm], predictions: Mapping[str, Predictions]
) -> dict[str, Standing]:
    """Return how sure it is where arms stand: name -> standing.

    Of those arms, the first fifty at most, that hold validation predictions of the same images for
    all seeds of the first arm; empty where the first lacks any, has fewer than three, or stands
    alone, and over splits, each of which has validation images of its own.

    Args:
        ranked: The best first, ranked by validation error.
        predictions: By trial key.
    """
    if not ranked or ranked[0].arm.splits:
        return {}
    first = _judged(ranked[0], predictions)
    seeds, shown = [*first], [*first.values()]
    alike: dict[str, dict[int, Judged]] = {}
    for arm in ranked[:MOST_ARMS]:
        found = _judged(arm, predictions)
        is_alike = arm.arm.arm.config.get("data") == ranked[0].arm.arm.config.get("data")
        if is_alike and all(
            seed in found and found[seed].shows_the_same(shown[0]) for seed in seeds
        ):
            alike[arm.arm.arm.name] = found
    is_whole = seeds == sorted(ranked[0].arm.trials)
    if not is_whole or len(seeds) < FEWEST_SEEDS or len(alike) < 2:
        return {}
    wrong = np.stack([[found[seed].is_wrong for seed in seeds] for found in alike.values()])
    chances = chances_of_best(wrong, shown[0].objects)
    may_be = not_told_from(0, [*wrong.astype(float)], shown[0].objects)
    rows = zip(alike, chances, may_be, strict=True)
    return {name: Standing(float(chance), may) for name, chance, may in rows}


def _judged(arm: RankedArm, predictions: Mapping[str, Predictions]) -> dict[int, Judged]:
    """Return what the arm's trials said of the validation images, by seed, of one set of data."""
    trials = {seed: trial for seed, trial in arm.arm.trials.items() if seed in arm.values}
    found = {
        seed: predictions[trial.trial_key]
        for seed, trial in trials.items()
        if trial is not None and trial.trial_key in predictions
    }
    return {
        seed: held.validation for seed, held in sorted(found.items()) if held.validation is not None
    }
