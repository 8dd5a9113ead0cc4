"""Whether one arm errs more than another on validation images by more than noise."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from capsmodel.metrics import VALIDATION_ERROR, Objective
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.judged import Judged, Predictions
from sweeps.aggregation.statistics.intervals import paired_difference
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS, two_way

_NORMAL = 1.96  # of 95 %, two-sided


def is_worse(
    one: ArmResults, other: ArmResults, objective: Objective, predictions: Mapping[str, Predictions]
) -> bool | None:
    """Return whether the 95 % interval of a difference says that one arm is worse; None where none.

    Of validation errors it is over images, and from three seeds on over seeds as well; of another
    objective over three seeds or more. It is of these two arms alone, and corrects for no choice.

    Args:
        one: With the seeds that the search went by.
        other: The same of the arm compared with.
        objective: What they are chosen by.
        predictions: By trial key.
    """
    if objective == Objective(VALIDATION_ERROR):
        judged = _judged(one, predictions), _judged(other, predictions)
        seeds = sorted(judged[0].keys() & judged[1].keys())
        pairs = [(judged[0][seed], judged[1][seed]) for seed in seeds]
        first = pairs[0][0] if pairs else None
        if first and all(each.shows_the_same(first) for pair in pairs for each in pair):
            differences = [own.is_wrong.astype(float) - theirs.is_wrong for own, theirs in pairs]
            return _is_above_zero(np.stack(differences), first.objects)
    own, theirs = (
        {seed: objective.cost(value) for seed, value in arm.chosen_by(objective).items()}
        for arm in (one, other)
    )
    found = paired_difference(own, theirs)
    return found.low > 0 if found.low is not None and found.n >= FEWEST_SEEDS else None


def _is_above_zero(
    differences: Float[np.ndarray, "seeds images"], objects: Int[np.ndarray, " images"] | None
) -> bool:
    """Return whether the interval of the mean lies above 0, had two more images differed most."""
    if len(differences) >= FEWEST_SEEDS:
        found = two_way(differences, objects).with_rare_images
        return bool(found.mean > found.half_width())
    means = differences.mean(axis=0)
    if objects is not None:
        means = np.bincount(np.unique(objects, return_inverse=True)[1], weights=means)
    deviations = (means - means.mean()) ** 2
    error = np.sqrt(deviations.sum() + 2 * deviations.max())  # of the sum
    return bool(means.sum() > _NORMAL * error)


def _judged(arm: ArmResults, predictions: Mapping[str, Predictions]) -> dict[int, Judged]:
    """Return what an arm's trials said of the validation images, by seed."""
    held = {
        seed: predictions[trial.trial_key].validation
        for seed, trial in arm.trials.items()
        if trial is not None and trial.trial_key in predictions
    }
    return {seed: judged for seed, judged in held.items() if judged is not None}
