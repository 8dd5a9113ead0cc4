"""Which settings act together: what pairs explain beyond both alone, compared with shadows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from sweeps.aggregation.sensitivity.forest import leaves, pair_surfaces
from sweeps.aggregation.sensitivity.shadows import (
    Excess,
    ShadowedColumn,
    ShareDraws,
    excesses,
    half_of,
    table_of,
    with_shadows,
)

NUM_HALVES = 16
NUM_SHUFFLES = 12
_NUM_TREES = 48
_FEWEST_IN_A_LEAF = 2
_NUM_CELLS = 6
_NUM_STUMPS = 60
_LEARNING_RATE = 0.2
_ADDED = 0.5
Numbers = Float[np.ndarray, "..."]


@dataclass(frozen=True)
class Pair:
    """Two columns and what they explain together.

    Attributes:
        first: Place of one among the columns.
        second: Place of the other, which comes later.
        excess: In percent of the objective's variance, beyond shadow pairs.
    """

    first: int
    second: int
    excess: Excess


def pair_importances(
    columns: Sequence[ShadowedColumn], objective: Sequence[float]
) -> tuple[Pair, ...]:
    """Return what each pair of columns explains that neither does alone.

    Trees that look for the best split never find two settings that act only together, as neither
    split is worth anything before the other. So what each column explains alone is taken away
    first, by boosted stumps, and trees of random splits are grown on the rest. A pair's share is
    how much of the objective's variance its part of the forest's functional ANOVA follows, less
    that of pairs with a shadow in them, to which the same was done.

    Source: Hutter, Hoos, Leyton-Brown, ICML 2014 (fANOVA of pairs). Geurts, Ernst, Wehenkel,
        Extremely Randomized Trees, Machine Learning 63 (2006).
    Difference: from fANOVA's pairs by the stumps, the random splits, the mean of the trees in
        place of each, and the shadows. A forest smooths, so shares are smaller than the truth.

    Args:
        columns: Settings that all trials have and that vary.
        objective: One finite value per trial, not all equal.
    """
    if len(columns) < 2:
        return ()
    table, values = table_of(columns), np.asarray(objective, dtype=np.float64)
    firsts, seconds = np.triu_indices(2 * len(columns), 1)
    num = len(columns)
    is_real = seconds < num
    is_shadow = (seconds >= num) & (seconds - num != firsts)  # no column beside its own shadow
    levels = np.array([column.num_levels for column in columns])
    kinds = np.sort([levels[firsts % num], levels[seconds % num]], axis=0)
    real, shadow = kinds[:, is_real], kinds[:, is_shadow]
    is_like = (real[:, :, None] == shadow[:, None, :]).all(axis=0)

    def drawn(parts: Sequence[Int[np.ndarray, " part"]]) -> ShareDraws:
        rows = [_shares(table[part], values[part], draw) for draw, part in enumerate(parts)]
        shares = np.array(rows)
        return ShareDraws(shares[:, is_real], shares[:, is_shadow])

    among_all = drawn([np.arange(len(values))] * NUM_SHUFFLES)
    halves = drawn([half_of(len(values), draw) for draw in range(NUM_HALVES)])
    beyond = excesses(len(values), among_all, halves, is_like=is_like, added=_ADDED)
    places = zip(firsts[is_real].tolist(), seconds[is_real].tolist(), beyond, strict=True)
    return tuple(Pair(first, second, excess) for first, second, excess in places)


def _shares(table: Numbers, values: Numbers, draw: int) -> Numbers:
    """Return the share of each pair of columns and shadows, in the order of `triu_indices`."""
    from sklearn.ensemble import ExtraTreesRegressor  # here, as it takes a second

    both = with_shadows(table, draw)
    firsts, seconds = np.triu_indices(both.shape[1], 1)
    rest = _beyond_each_alone(both, values)
    if values.var() == 0 or rest.var() == 0:
        return np.zeros(len(firsts))
    forest = ExtraTreesRegressor(
        _NUM_TREES, max_features=1, min_samples_leaf=_FEWEST_IN_A_LEAF, random_state=draw
    )
    trees = forest.fit(both, rest).estimators_
    surfaces = pair_surfaces([leaves(tree) for tree in trees], _NUM_CELLS)
    cells = np.minimum((both * _NUM_CELLS).astype(int), _NUM_CELLS - 1).T
    said = surfaces[firsts[:, None], cells[firsts], seconds[:, None], cells[seconds]]
    said = said - said.mean(axis=1, keepdims=True)
    squares = (said**2).sum(axis=1)
    followed = np.clip(said @ (rest - rest.mean()), 0, None) ** 2
    explained = followed / np.where(squares > 0, squares, 1.0)
    return explained / ((values - values.mean()) ** 2).sum()


def _beyond_each_alone(table: Numbers, values: Numbers) -> Numbers:
    """Return what is left of the values once each column has explained what it can alone."""
    from sklearn.ensemble import GradientBoostingRegressor

    stumps: Any = GradientBoostingRegressor(
        max_depth=1, n_estimators=_NUM_STUMPS, learning_rate=_LEARNING_RATE, random_state=0
    )
    return values - stumps.fit(table, values).predict(table)
