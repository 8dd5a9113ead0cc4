"""Which of several is best: how sure that is, and which cannot be told from it."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from sweeps.aggregation.statistics.families import SIGNIFICANCE, holm
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS, members_of, two_way

_DRAWS = 2000
_AT_ONCE = 200


def chances_of_best(
    wrong: Bool[np.ndarray, "arms seeds images"],
    objects: Int[np.ndarray, " images"] | None = None,
) -> Float[np.ndarray, " arms"]:
    """Return how often each arm has the fewest errors, were seeds and images drawn again.

    Both are drawn with replacement, the same for all arms; of arms that tie each gets its part.
    Counts are whole numbers, so that every machine gives the same.

    Source: the pigeonhole bootstrap, Owen 2007.

    Args:
        wrong: Whether each network of each arm errs on each image.
        objects: Which object each image shows: objects are drawn then.
    """
    errors = wrong.astype(float)
    if objects is not None:
        errors = errors @ members_of(objects)
    _, num_seeds, num_clusters = errors.shape
    chance = np.random.default_rng(0)
    won = np.zeros(len(wrong))
    for _ in range(_DRAWS // _AT_ONCE):
        seeds = chance.multinomial(num_seeds, [1 / num_seeds] * num_seeds, _AT_ONCE)
        images = chance.multinomial(num_clusters, [1 / num_clusters] * num_clusters, _AT_ONCE)
        counts = np.einsum("asi,ds,di->da", errors, seeds, images, optimize=True)
        are_best = counts == counts.min(axis=1, keepdims=True)
        won += (are_best / are_best.sum(axis=1, keepdims=True)).sum(axis=0)
    return won / _DRAWS


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
