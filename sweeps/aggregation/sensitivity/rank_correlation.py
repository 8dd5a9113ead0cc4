"""Whether one number rises with another, whatever the shape: Spearman's correlation of ranks."""

import math
from collections.abc import Sequence

from sweeps.aggregation.statistics.intervals import Interval

_ALMOST_ONE = 1 - 1e-12  # beyond it the interval's transform is infinite


def rank_correlation(
    first: Sequence[float], second: Sequence[float], confidence: float = 0.95
) -> Interval | None:
    """Return the correlation of the ranks, from -1 to 1, with its interval.

    None where there are fewer than four pairs, or all of one side are equal.

    Source: Bonett, Wright, Sample size requirements for estimating Pearson, Kendall and Spearman
        correlations, Psychometrika 65 (2000), for the interval.
    """
    import numpy as np  # here, as they take half a second to import
    from scipy import stats

    n = len(first)
    if n < 4 or min(first) == max(first) or min(second) == max(second):
        return None
    correlation = float(np.corrcoef(stats.rankdata(first), stats.rankdata(second))[0, 1])
    inside = max(-_ALMOST_ONE, min(_ALMOST_ONE, correlation))
    half = float(stats.norm.ppf((1 + confidence) / 2)) * math.sqrt((1 + inside**2 / 2) / (n - 3))
    low, high = (math.tanh(math.atanh(inside) + side * half) for side in (-1, 1))
    return Interval(n, correlation, low, high, confidence)
