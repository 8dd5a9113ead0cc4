"""Many comparisons at once: what holds for all of them together."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float

SIGNIFICANCE = 0.05

Verdict = Literal["different", "equivalent", "undecided"]


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted so that any false one below a level is as rare as the level.

    Source: Holm 1979, step by step as `statsmodels.stats.multitest.multipletests`, which takes
    seconds to import.
    """
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values)
    steps = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted.tolist()


def simultaneous_confidence(num_comparisons: int) -> float:
    """Return the confidence of each interval such that all together cover in 95 % of tables.

    Source: Bonferroni's bound.
    """
    return 1 - SIGNIFICANCE / max(num_comparisons, 1)


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
