"""The range of a dimension in Optuna's words."""

from typing import TYPE_CHECKING, Any

from capsmodel.search_range import Choices, Floats, Ints
from search_spaces.space.space import Dimension
from sweeps.records.manifest_plan import Plain

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution


def distribution_of(dimension: Dimension) -> "BaseDistribution":
    """Return Optuna's word for the range of a dimension."""
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    match dimension.range:
        case Ints(low, high, step, log):
            return IntDistribution(low, high, log=log, step=step)
        case Floats(low, high, log):
            return FloatDistribution(low, high, log=log)
        case Choices(values):
            return CategoricalDistribution(values)


def suggested(trial: Any, dimension: Dimension) -> Plain:
    """Return what a trial of Optuna takes for a dimension."""
    match dimension.range:
        case Ints(low, high, step, log):
            return trial.suggest_int(dimension.name, low, high, step=step, log=log)
        case Floats(low, high, log):
            return trial.suggest_float(dimension.name, low, high, log=log)
        case Choices(values):
            return trial.suggest_categorical(dimension.name, values)
