"""How much each setting matters, beyond what chance gives: fANOVA and PED-ANOVA with bands."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float, Int

from sweeps.aggregation.sensitivity.column import Column, half_of, table_of, with_shadows
from sweeps.aggregation.sensitivity.forest import leaves, main_shares
from sweeps.aggregation.sensitivity.ped_anova import ped_anova_shares
from sweeps.aggregation.sensitivity.shadows import Drawn, Excess, excesses

NUM_HALVES = 40
NUM_SHUFFLES = 24
_NUM_TREES = 16
_ADDED = 0.05
_MAX_DEPTH = 6  # bounds seconds and memory where trials are many

Numbers = Float[np.ndarray, "..."]
Places = Int[np.ndarray, " part"]
Measure = Callable[[Numbers, Numbers, int], Numbers]


def fanova(columns: Sequence[Column], objective: Sequence[float]) -> tuple[Excess, ...]:
    """Return how much of the objective's variance, as a forest models it, each column explains.

    By itself, as a main effect, and beyond shadows of columns like it: see `excesses`. Two
    settings that act only together have no main effect: see `pair_importances`.

    Source: Hutter, Hoos, Leyton-Brown, An Efficient Approach for Assessing Hyperparameter
        Importance, ICML 2014.
    Difference: excess over shadows and bands. Logarithms of log-scaled settings, and one column a
        choice, of equal parts.

    Args:
        columns: Settings that are there in all trials and vary.
        objective: One finite value a trial, not all equal.
    """
    return _beyond_shadows(_by_fanova, columns, objective)


def ped_anova(columns: Sequence[Column], objective: Sequence[float]) -> tuple[Excess, ...]:
    """Return how far the best trials' values of each column differ from all trials', in shares.

    Of the sum over all columns and shadows, and beyond shadows of columns like it. Optuna keeps
    some megabytes of each call in caches of its own until the process ends.

    Source: as `ped_anova_shares`.

    Args:
        columns: Settings that are there in all trials and vary.
        objective: One finite value a trial, a small one good, not all equal.
    """
    both = (*columns, *columns)

    def shares(table: Numbers, values: Numbers, draw: int) -> Numbers:
        return ped_anova_shares(both, table, values)

    return _beyond_shadows(shares, columns, objective)


def _by_fanova(table: Numbers, values: Numbers, draw: int) -> Numbers:
    from sklearn.ensemble import RandomForestRegressor  # here, as it takes a second

    forest = RandomForestRegressor(_NUM_TREES, max_depth=_MAX_DEPTH, random_state=draw)
    trees = forest.fit(table, values).estimators_
    return np.mean([main_shares(leaves(tree)) for tree in trees], axis=0)


def _beyond_shadows(
    measure: Measure, columns: Sequence[Column], objective: Sequence[float]
) -> tuple[Excess, ...]:
    """Return the excesses over shadows of columns like them: forests favour many values."""
    table, values = table_of(columns), np.asarray(objective, dtype=np.float64)
    everything = [np.arange(len(values))] * NUM_SHUFFLES
    halves = [half_of(len(values), draw) for draw in range(NUM_HALVES)]
    kinds = np.array([(column.num_levels, column.is_choice) for column in columns])
    drawn = (_drawn(measure, table, values, parts) for parts in (everything, halves))
    return excesses(
        len(values), *drawn, is_like=(kinds[:, None] == kinds).all(axis=2), added=_ADDED
    )


def _drawn(measure: Measure, table: Numbers, values: Numbers, parts: Sequence[Places]) -> Drawn:
    shares: list[Numbers] = []
    for draw, part in enumerate(parts):
        is_flat = values[part].min() == values[part].max()
        both = with_shadows(table[part], draw)
        shares.append(np.zeros(both.shape[1]) if is_flat else measure(both, values[part], draw))
    own, shadows = np.split(np.array(shares), 2, axis=1)
    return Drawn(own, shadows)
