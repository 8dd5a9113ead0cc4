"""The confidence of a ranking: which arms may be as good as the first."""

from collections.abc import Mapping, Sequence

import numpy as np

from sweeps.aggregation.results.predictions import Predictions, SplitPredictions
from sweeps.aggregation.results.ranking import RankedArm
from sweeps.aggregation.statistics.best import indistinguishable_from
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS

MOST_ARMS = 50  # the first of a ranking: arms below them are hardly the best


def may_be_best(
    ranked: Sequence[RankedArm], predictions: Mapping[str, Predictions]
) -> dict[str, bool]:
    """Return whether an arm cannot be distinguished from the first: name -> whether.

    At 95 % for all arms at once, by seeds and validation images.

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
        is_alike = arm.arm.tested_on == ranked[0].arm.tested_on
        if is_alike and all(
            seed in judged and judged[seed].shows_the_same(shown[0]) for seed in seeds
        ):
            alike[arm.arm.arm.name] = judged
    is_whole = seeds == sorted(ranked[0].arm.trials)
    if not is_whole or len(seeds) < FEWEST_SEEDS or len(alike) < 2:
        return {}
    wrong = np.stack([[judged[seed].errors for seed in seeds] for judged in alike.values()])
    alike_to_first = indistinguishable_from(0, [*wrong.astype(float)], shown[0].objects)
    return dict(zip(alike, alike_to_first, strict=True))


def _judged(arm: RankedArm, predictions: Mapping[str, Predictions]) -> dict[int, SplitPredictions]:
    """Return the validation predictions of the arm's trials, by seed."""
    trials = {seed: trial for seed, trial in arm.arm.trials.items() if seed in arm.values}
    predicted = {
        seed: predictions[trial.trial_key]
        for seed, trial in trials.items()
        if trial is not None and trial.trial_key in predictions
    }
    return {
        seed: of_seed.validation
        for seed, of_seed in sorted(predicted.items())
        if of_seed.validation is not None
    }
