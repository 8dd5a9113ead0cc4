"""Many comparisons at once: what holds for all of them together."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

SIGNIFICANCE = 0.05

Verdict = Literal["different", "equivalent", "undecided"]


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for all of them together.

    The probability that any false one is below a level is at most that level.

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
