"""Which settings act together: what pairs explain beyond both alone, compared with shadows.

A shadow is a copy of a setting whose values are shuffled among the trials. A forest gives pairs
with a shadow in them some share too, and a pair without effect gets as much.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.sensitivity.forest import leaves, pair_surfaces
from sweeps.aggregation.sensitivity.importance import Importance, SettingColumn
from sweeps.aggregation.statistics.families import holm

NUM_SHUFFLES = 12
_SEED = 20_140_621
_PERCENTILE = 97.5
_NUM_TREES = 48
_FEWEST_IN_A_LEAF = 2
_NUM_CELLS = 6
_NUM_STUMPS = 60
_LEARNING_RATE = 0.2
_ADDED = 0.5  # in mean shadows, before logarithms are taken; found by simulation
Numbers = Float[np.ndarray, "..."]


@dataclass(frozen=True)
class Pair:
    """Two columns and what they explain together.

    Attributes:
        first: Place of one among the columns.
        second: Place of the other, which comes later.
        importance: As a share beyond that of pairs with a shadow.
    """

    first: int
    second: int
    importance: Importance


def pair_importances(
    columns: Sequence[SettingColumn], objective: Sequence[float]
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
    table = np.array([column.units for column in columns], dtype=np.float64).T
    values = np.asarray(objective, dtype=np.float64)
    firsts, seconds = np.triu_indices(2 * len(columns), 1)
    num = len(columns)
    is_real = seconds < num
    is_shadow = (seconds >= num) & (seconds - num != firsts)  # no column beside its own shadow
    levels = np.array([column.num_levels for column in columns])
    kinds = np.sort([levels[firsts % num], levels[seconds % num]], axis=0)
    real, shadow = kinds[:, is_real], kinds[:, is_shadow]
    is_like = (real[:, :, None] == shadow[:, None, :]).all(axis=0)

    shares = np.array([_shares(table, values, draw) for draw in range(NUM_SHUFFLES)])
    means, shadows = shares[:, is_real].mean(axis=0), shares[:, is_shadow]
    alike = [shadows[:, like].ravel() for like in is_like]
    p_values = [_p_value(mean, each) for mean, each in zip(means.tolist(), alike, strict=True)]
    adjusted = holm(p_values)
    return tuple(
        Pair(first, second, Importance(float(mean - each.mean()), p_value, adjusted_p))
        for first, second, mean, each, p_value, adjusted_p in zip(
            firsts[is_real].tolist(),
            seconds[is_real].tolist(),
            means,
            alike,
            p_values,
            adjusted,
            strict=True,
        )
    )


def _p_value(share: float, shadows: Float[np.ndarray, " shadows"]) -> float:
    """Return the p value of a share, from a normal fit of the shadows' logarithms.

    Shares are skewed: as they are, a shadow that stands out is far less rare than by a normal law.
    A share that is not above 97.5 % of the shadows is none, whatever the fit says.

    Source: Altmann, Tolosi, Sander, Lengauer, Permutation Importance, Bioinformatics 26 (2010).
        Kursa, Rudnicki, Feature Selection with the Boruta Package, JSS 36 (2010), for shadows.
    Difference: something is added, so that none is at minus infinity, and the t distribution of a
        prediction stands for the normal one.
    """
    from scipy.special import stdtr  # here, and not scipy.stats, to keep imports quick

    if share <= np.percentile(shadows, _PERCENTILE):
        return 1.0
    scale = shadows.mean() or 1.0
    logarithms = np.log(shadows / scale + _ADDED)
    spread = logarithms.std(ddof=1) * math.sqrt(1 + 1 / len(shadows))
    beyond = math.log(share / scale + _ADDED) - logarithms.mean()
    return float(stdtr(len(shadows) - 1, -beyond / (spread or math.inf)))


def _shares(table: Numbers, values: Numbers, draw: int) -> Numbers:
    """Return the share of each pair of columns and shadows, in the order of `triu_indices`."""
    from sklearn.ensemble import ExtraTreesRegressor  # here, as it takes a second

    chance = np.random.default_rng((_SEED, len(table), draw))
    both = np.hstack([table, chance.permuted(table, axis=0)])
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
