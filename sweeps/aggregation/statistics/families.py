"""Many comparisons at once: what holds for all of them together."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float

SIGNIFICANCE = 0.05

Verdict = Literal["different", "equivalent", "undecided"]


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for all of them together, see `holm_rows`."""
    return holm_rows(np.asarray(p_values, dtype=float)).tolist()


def holm_rows(
    p_values: Float[np.ndarray, "... comparisons"],
    share: Callable[[int], float] = lambda num_left: 1.0,
    num_settled: int = 0,
) -> Float[np.ndarray, "... comparisons"]:
    """Return p values adjusted for all of a row together.

    The probability that any false one is below a level is at most that level.

    Source: Holm 1979, step by step as `statsmodels.stats.multitest.multipletests`, which takes
    seconds to import. With looks: Ye, Li, Liu and Yao 2013, A group sequential Holm procedure with
    multiple primary endpoints.

    Args:
        p_values: Of the comparisons that are tested.
        share: How much of the level they have, by the number of comparisons that are left.
        num_settled: Comparisons of the family that are no longer tested but keep their part.
    """
    num = p_values.shape[-1]
    order = np.argsort(p_values, axis=-1, kind="stable")
    factors = [left / share(left) for left in range(num + num_settled, num_settled, -1)]
    steps = np.take_along_axis(p_values, order, axis=-1) * np.asarray(factors)
    adjusted = np.minimum(np.maximum.accumulate(steps, axis=-1), 1.0)
    unsorted = np.empty_like(adjusted)
    np.put_along_axis(unsorted, order, adjusted, axis=-1)
    return unsorted


def simultaneous_confidence(num_comparisons: int) -> float:
    """Return the confidence of each interval such that all together cover in 95 % of tables.

    Source: Bonferroni's bound.
    """
    return 1 - SIGNIFICANCE / max(num_comparisons, 1)
