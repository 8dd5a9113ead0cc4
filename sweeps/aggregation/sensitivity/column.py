"""One setting over the trials, as importances see it, and its shadow."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

_SEED = 20_140_621


@dataclass(frozen=True)
class Column:
    """One setting over the trials, or rather where its values lie.

    Attributes:
        units: A place between 0 and 1 for each trial.
        num_levels: Into how many equal parts the values fall, 0 where they are numbers of a range.
        is_choice: Whether the levels have no order.
    """

    units: tuple[float, ...]
    num_levels: int = 0
    is_choice: bool = False


def table_of(columns: Sequence[Column]) -> Float[np.ndarray, "trials columns"]:
    """Return the columns side by side."""
    return np.array([column.units for column in columns], dtype=np.float64).T


def with_shadows(
    table: Float[np.ndarray, "trials columns"], draw: int
) -> Float[np.ndarray, "trials both"]:
    """Return the columns, and behind them a copy of each, shuffled among the trials."""
    chance = np.random.default_rng((_SEED, len(table), draw))
    return np.hstack([table, chance.permuted(table, axis=0)])


def half_of(num_trials: int, draw: int) -> Int[np.ndarray, " half"]:
    """Return the places of half of the trials, each at most once."""
    chance = np.random.default_rng((_SEED, draw))
    return np.sort(chance.permutation(num_trials)[: (num_trials + 1) // 2])
