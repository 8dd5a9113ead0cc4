"""How much better than the setting that was chosen another one of those tried may be."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int, Shaped

from sweeps.aggregation.statistics.two_way import TwoWay, two_way

LEVEL = 0.2
"""How often the slack may be too small: a table is wrong only where its own test is as well.

By `tools/acceptance/tuned.py`: at .5 more than one table of twenty is wrong in some cases, at
.05 the power is half of this.
"""


def tuning_slack(
    wrong: Shaped[np.ndarray, "... points seeds images"],
    chosen: Int[np.ndarray, "..."],
    objects: Int[np.ndarray, " images"] | None = None,
) -> Float[np.ndarray, "..."]:
    """Return how far an arm may lie above the best of what was tried for it, 0 or more.

    Choosing by few trainings and images may miss the best. The difference of the chosen point from
    each of the others has an upper end: one-sided t limits that hold for all of them together
    (Bonferroni), their variance that over images of this pair and that over seeds of all points
    together, as few seeds of one point tell little of it. The largest is how much tuning has left
    open. Nothing, where every other point is clearly worse.

    Source: Hsu 1984, Constrained simultaneous confidence intervals for multiple comparisons with
    the best. Difference: a variance of each pair, and in two directions.

    Args:
        wrong: Error of each validation image of one arm; leading axes are arms or tables.
        chosen: Place of the point that was chosen.
        objects: Which object each image shows; None where each image is its own.

    Raises:
        ValueError: If there are fewer than two seeds.
    """
    from scipy.special import stdtrit  # here, and not scipy.stats, to keep imports quick

    points, seeds, _ = wrong.shape[-3:]
    at = np.asarray(chosen)[..., None, None, None]
    wrong_at_chosen = np.take_along_axis(wrong, at, axis=-3).astype(float)
    way = two_way(wrong_at_chosen - wrong, objects)
    of_seeds = wrong.mean(axis=-1).var(axis=-1, ddof=1).mean(axis=-1)[..., None] * 2 / seeds
    of_images = way.over_images
    below = of_seeds**2 / (points * (seeds - 1)) + of_images**2 / (way.num_clusters - 1)
    has_any = below > 0
    degrees = np.where(has_any, (of_seeds + of_images) ** 2 / np.where(has_any, below, 1), 1.0)
    reach = stdtrit(degrees, 1 - LEVEL / (points - 1)) * np.sqrt(of_seeds + of_images)
    upper = way.mean + reach
    np.put_along_axis(upper, np.asarray(chosen)[..., None], 0.0, axis=-1)
    return np.asarray(np.maximum(upper.max(axis=-1), 0.0))


def p_with_slack(
    way: TwoWay, of_arm: Float[np.ndarray, "..."], of_baseline: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """Return the p value of a difference that tuning may have made larger than it is.

    Args:
        way: As in `less_slack`.
        of_arm: The same.
        of_baseline: The same.
    """
    return less_slack(way, of_arm, of_baseline).p_value


def less_slack(
    way: TwoWay, of_arm: Float[np.ndarray, "..."], of_baseline: Float[np.ndarray, "..."]
) -> TwoWay:
    """Return a difference less what tuning has left open of the arm that came out worse.

    Had that been tuned better, so much less would be between them. The sign is lost.

    Args:
        way: Arm minus baseline.
        of_arm: What `tuning_slack` returns for it.
        of_baseline: The same.
    """
    of_worse = np.where(way.mean > 0, of_arm, of_baseline)
    remaining = np.asarray(np.maximum(np.abs(way.mean) - of_worse, 0.0))
    return replace(way, mean=remaining)
