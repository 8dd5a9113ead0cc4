"""How much of what arms differ by goes back to each factor, exactly, on a whole grid."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float

Factors = tuple[int, ...]


@dataclass(frozen=True)
class GridVariance:
    """The variance over a grid in parts, each of some factors that act together.

    Attributes:
        parts: Places of the factors -> the variance that only all of them together explain.
        num_factors: Number of factors of the grid.
    """

    parts: dict[Factors, float]
    num_factors: int

    @property
    def total(self) -> float:
        """All parts together."""
        return sum(self.parts.values())

    def of_factor(self, place: int) -> float:
        """Return a factor's Shapley effect: its own part, and an equal part of each it acts in."""
        return sum(value / len(key) for key, value in self.parts.items() if place in key)

    def of_pair(self, first: int, second: int) -> float:
        """Return what a pair adds to both: an equal part of each variance that pairs share.

        All single parts and all pairs together are the whole; a factor's Shapley effect is its
        single part and half of each of its pairs.
        """
        return sum(
            value / (len(key) * (len(key) - 1) / 2)
            for key, value in self.parts.items()
            if first in key and second in key
        )


def grid_variance(
    shape: Sequence[int],
    means: Float[np.ndarray, " points"],
    noise: Float[np.ndarray, "points points"],
) -> GridVariance:
    """Return the variance of means over a grid in parts, without what noise adds to each.

    Noise is taken off without stopping at 0, so that a part of nothing is now above and now below.

    Source: Shapley effects: Owen 2014, Sobol' indices and Shapley value; Song, Nelson and Staum
    2016, Shapley effects for global sensitivity analysis. Of a whole grid they are exact.

    Args:
        shape: Number of levels of each factor.
        means: Mean of each point, the last factor fastest.
        noise: Covariance of the means.
    """
    sizes, directions = np.linalg.eigh(noise)
    every = np.vstack([means, directions.T]).reshape(-1, *shape)
    weights = np.concatenate([[1.0], -sizes])
    parts: dict[Factors, float] = {}
    for key in _subsets(len(shape)):
        interaction = _interaction(every, key)
        squares = (interaction**2).reshape(len(interaction), -1).mean(axis=1)
        parts[key] = float(weights @ squares)
    return GridVariance(parts, len(shape))


def _subsets(num_factors: int) -> Iterator[Factors]:
    for size in range(1, num_factors + 1):
        yield from combinations(range(num_factors), size)


def _interaction(grid: Float[np.ndarray, "n ..."], key: Factors) -> Float[np.ndarray, "n ..."]:
    """Return what only some factors together explain: means over the others, centred by each."""
    others = tuple(axis for axis in range(1, grid.ndim) if axis - 1 not in key)
    part = grid.mean(axis=others, keepdims=True) if others else grid
    for place in key:
        part = part - part.mean(axis=place + 1, keepdims=True)
    return part
