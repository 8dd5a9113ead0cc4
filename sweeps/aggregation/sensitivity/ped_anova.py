"""PED-ANOVA as in Optuna: how far the best trials' values of a setting differ from all trials'."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.sensitivity.column import Column

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.study import Study

_FEWEST_AT_THE_TOP = 5


def ped_anova_shares(
    columns: Sequence[Column],
    table: Float[np.ndarray, "trials columns"],
    objective: Float[np.ndarray, " trials"],
) -> Float[np.ndarray, " columns"]:
    """Return each column's divergence as a share of the sum over all columns.

    Source: Watanabe, Bansal, Hutter, PED-ANOVA, IJCAI 2023, arXiv:2304.10255, as in Optuna.
    Difference: the best tenth is at least five trials.

    Args:
        columns: What the values of each column are.
        table: Their places between 0 and 1.
        objective: What is to be small.
    """
    from optuna.importance import PedAnovaImportanceEvaluator  # here, as it takes a second

    top = min(0.5, max(0.1, _FEWEST_AT_THE_TOP / len(objective)))
    with _quiet_optuna():
        found = PedAnovaImportanceEvaluator(target_quantile=top).evaluate(
            _study(columns, table, objective)
        )
    divergences = np.array([found[name] for name in sorted(found)])
    return divergences / (divergences.sum() or 1.0)


def _study(
    columns: Sequence[Column],
    table: Float[np.ndarray, "trials columns"],
    objective: Float[np.ndarray, " trials"],
) -> "Study":
    """Return what Optuna takes: the columns as settings of finished trials."""
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


def _distribution(column: Column) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if column.is_choice:
        return CategoricalDistribution(tuple(range(column.num_levels)))
    if column.num_levels:
        return IntDistribution(0, column.num_levels - 1)
    return FloatDistribution(0.0, 1.0)


def _level(column: Column, unit: float) -> int | float:
    return int(unit * column.num_levels) if column.num_levels else float(unit)


def _name(place: int) -> str:
    return f"{place:04d}"


@contextmanager
def _quiet_optuna() -> Generator[None]:
    """Keep Optuna from telling of each study that it makes."""
    from optuna import logging

    before = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        yield
    finally:
        logging.set_verbosity(before)
