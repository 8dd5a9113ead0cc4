"""Whether a difference lies within a margin that does not matter."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.statistics.two_way import TwoWay


def beyond_margin(way: TwoWay, margin: float) -> Float[np.ndarray, "..."]:
    """Return the p value of differences that lie beyond a margin.

    Two more images are taken to differ as much as the one that differs most. The variance over
    seeds is no smaller than its residual, so that seeds which all differ alike have an interval
    too. Where no image differs, the value is the probability of that if a share of the images as
    large as the margin differed. At 5 %, none of N images contradicts a share of up to 3 / N.

    Args:
        way: The differences.
        margin: Above 0.
    """
    rare = way.with_rare_images
    rare = replace(rare, over_seeds=np.asarray(np.maximum(rare.over_seeds, rare.residual)))
    p_value = np.max([equivalence_p(way.mean, *error, margin) for error in rare.errors], axis=0)
    of_none = (1 - min(margin, 1.0)) ** way.num_clusters
    return np.where(way.largest > 0, p_value, of_none)


def equivalence_p(
    mean: Float[np.ndarray, "..."] | float,
    standard_error: Float[np.ndarray, "..."] | float,
    degrees: Float[np.ndarray, "..."] | float,
    margin: float,
) -> Float[np.ndarray, "..."]:
    """Return the p value of a mean that lies outside a margin: small where both are equivalent.

    Source: two one-sided t tests, Schuirmann 1987.

    Args:
        mean: A difference.
        standard_error: Its own.
        degrees: Degrees of freedom of the standard error.
        margin: Above 0: differences within it, on either side, do not matter.
    """
    from scipy.special import stdtr

    error = np.asarray(standard_error, dtype=float)
    inside = margin - np.abs(np.asarray(mean, dtype=float))
    sign = np.where(inside >= 0, np.inf, -np.inf)
    ratio = np.divide(inside, error, out=sign.astype(float), where=error > 0)
    return np.asarray(stdtr(degrees, -ratio))
