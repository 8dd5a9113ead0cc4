"""The importance of each setting beyond chance: fANOVA and PED-ANOVA with bands."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from sweeps.aggregation.sensitivity.forest import leaves, main_shares
from sweeps.aggregation.sensitivity.shadows import (
    Excess,
    ShadowedColumn,
    ShareDraws,
    excesses,
    half_of,
    table_of,
    with_shadows,
)

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.study import Study


_FEWEST_AT_THE_TOP = 5
NUM_HALVES = 40
NUM_SHUFFLES = 24
_NUM_TREES = 16
_ADDED = 0.05
_MAX_DEPTH = 6  # bounds seconds and memory where trials are many
Numbers = Float[np.ndarray, "..."]
Places = Int[np.ndarray, " part"]
Measure = Callable[[Numbers, Numbers, int], Numbers]


def fanova(columns: Sequence[ShadowedColumn], objective: Sequence[float]) -> tuple[Excess, ...]:
    """Return how much of the objective's variance, by a forest, each column explains alone.

    It is the main effect, beyond that of shadows of similar columns: see `excesses`. Two settings
    that act only together have no main effect: see `pair_importances`.

    Source: Hutter, Hoos, Leyton-Brown, An Efficient Approach for Assessing Hyperparameter
        Importance, ICML 2014.
    Difference: excess over shadows and bands. Logarithms of log-scaled settings, and one column a
        choice, of equal parts.

    Args:
        columns: Settings that all trials have and that vary.
        objective: One finite value per trial, not all equal.
    """
    return _beyond_shadows(_by_fanova, columns, objective)


def ped_anova(columns: Sequence[ShadowedColumn], objective: Sequence[float]) -> tuple[Excess, ...]:
    """Return how far each column's values in the best trials differ from those in all trials.

    The value is a share of the sum over all columns and shadows, less the share of the shadows of
    similar columns. Optuna caches some megabytes per call until the process ends.

    Source: as `ped_anova_shares`.

    Args:
        columns: Settings that all trials have and that vary.
        objective: One finite value per trial, to be minimised, not all equal.
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
    measure: Measure, columns: Sequence[ShadowedColumn], objective: Sequence[float]
) -> tuple[Excess, ...]:
    """Return the excesses over shadows of similar columns: forests favour many values."""
    table, values = table_of(columns), np.asarray(objective, dtype=np.float64)
    everything = [np.arange(len(values))] * NUM_SHUFFLES
    halves = [half_of(len(values), draw) for draw in range(NUM_HALVES)]
    kinds = np.array([(column.num_levels, column.is_choice) for column in columns])
    drawn = (_drawn(measure, table, values, parts) for parts in (everything, halves))
    return excesses(
        len(values), *drawn, is_like=(kinds[:, None] == kinds).all(axis=2), added=_ADDED
    )


def _drawn(
    measure: Measure, table: Numbers, values: Numbers, parts: Sequence[Places]
) -> ShareDraws:
    shares: list[Numbers] = []
    for draw, part in enumerate(parts):
        is_flat = values[part].min() == values[part].max()
        both = with_shadows(table[part], draw)
        shares.append(np.zeros(both.shape[1]) if is_flat else measure(both, values[part], draw))
    real, shadows = np.split(np.array(shares), 2, axis=1)
    return ShareDraws(real, shadows)


def ped_anova_shares(
    columns: Sequence[ShadowedColumn],
    table: Float[np.ndarray, "trials columns"],
    objective: Float[np.ndarray, " trials"],
) -> Float[np.ndarray, " columns"]:
    """Return each column's divergence as a share of the sum over all columns.

    Source: Watanabe, Bansal, Hutter, PED-ANOVA, IJCAI 2023, arXiv:2304.10255, as in Optuna.
    Difference: the best tenth is at least five trials.

    Args:
        columns: Their levels and order.
        table: Their places between 0 and 1.
        objective: To be minimised.
    """
    from optuna.importance import PedAnovaImportanceEvaluator  # here, as it takes a second

    top = min(0.5, max(0.1, _FEWEST_AT_THE_TOP / len(objective)))
    with _quiet_optuna():
        divergence_of = PedAnovaImportanceEvaluator(target_quantile=top).evaluate(
            _study(columns, table, objective)
        )
    divergences = np.array([divergence_of[name] for name in sorted(divergence_of)])
    return divergences / (divergences.sum() or 1.0)


def _study(
    columns: Sequence[ShadowedColumn],
    table: Float[np.ndarray, "trials columns"],
    objective: Float[np.ndarray, " trials"],
) -> "Study":
    """Return an Optuna study whose finished trials have the columns as settings."""
    import optuna
    from optuna.trial import create_trial

    distributions = {_name(place): _distribution(column) for place, column in enumerate(columns)}
    trials = [
        create_trial(
            params={_name(p): _level(column, row[p]) for p, column in enumerate(columns)},
            distributions=distributions,
            value=float(value),
        )
        for row, value in zip(table, objective, strict=True)
    ]
    study = optuna.create_study()
    study.add_trials(trials)
    return study


def _distribution(column: ShadowedColumn) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if column.is_choice:
        return CategoricalDistribution(tuple(range(column.num_levels)))
    if column.num_levels:
        return IntDistribution(0, column.num_levels - 1)
    return FloatDistribution(0.0, 1.0)


def _level(column: ShadowedColumn, unit: float) -> int | float:
    return int(unit * column.num_levels) if column.num_levels else float(unit)


def _name(place: int) -> str:
    return f"{place:04d}"


@contextmanager
def _quiet_optuna() -> Generator[None]:
    """Keep Optuna from logging each study that it creates."""
    from optuna import logging

    before = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        yield
    finally:
        logging.set_verbosity(before)
