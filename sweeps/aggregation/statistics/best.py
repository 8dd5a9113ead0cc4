"""Which of several cannot be told from the best."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from sweeps.aggregation.statistics.families import SIGNIFICANCE, holm
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS, two_way


def indistinguishable_from(
    best: int,
    wrong: Sequence[Float[np.ndarray, "seeds images"]],
    objects: Int[np.ndarray, " images"] | None = None,
) -> list[bool]:
    """Return for each arm whether it may be as good as the best, for all of them together.

    Args:
        best: Place of the arm that the others are compared with.
        wrong: Wrong images of each arm, seeds in the same order.
        objects: Which object each image shows; None where each image is its own.
    """
    others = [place for place in range(len(wrong)) if place != best]
    if len(wrong[best]) < FEWEST_SEEDS:
        return [True] * len(wrong)
    compared = [two_way(wrong[place] - wrong[best], objects) for place in others]
    adjusted = dict(zip(others, holm([float(way.p_value) for way in compared]), strict=True))
    return [adjusted.get(place, 1.0) >= SIGNIFICANCE for place in range(len(wrong))]
