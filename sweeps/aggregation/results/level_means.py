"""The mean test error of the arms with each level of a factor, and with each pair of levels."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.results.crossed_errors import CrossedErrors
from sweeps.aggregation.results.factor_effects import Effects
from sweeps.aggregation.results.factors import level_places
from sweeps.aggregation.statistics.contrasts import differences_from_first
from sweeps.aggregation.statistics.intervals import Interval, mean_interval
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS, two_way


@dataclass(frozen=True)
class LevelMean:
    """The mean over the arms with one level of a factor.

    Attributes:
        factor: Place of the factor.
        level: Place of the level.
        num_trials: Number of trials in the mean.
        mean: Test error, a fraction; None without such an arm.
        difference: From the first level, by the model; None for the first level, and where the arms
            cannot estimate it.
    """

    factor: int
    level: int
    num_trials: int
    mean: float | None
    difference: Interval | None


def level_means(effects: Effects) -> list[LevelMean]:
    """Return the mean of each level, factor by factor."""
    return [mean for place in range(len(effects.factors)) for mean in _means_of(effects, place)]


def cell_means(effects: Effects, first: int, second: int) -> Float[np.ndarray, "first second"]:
    """Return the mean of the arms with each pair of levels; NaN without such an arm."""
    levels = level_places(effects.crossed.arms, effects.factors)
    means = effects.crossed.errors.mean(axis=1)
    shape = (len(effects.factors[first].levels), len(effects.factors[second].levels))
    cells = np.full(shape, np.nan)
    for row, column in np.ndindex(*shape):
        has_both = (levels[:, first] == row) & (levels[:, second] == column)
        if has_both.any():
            cells[row, column] = means[has_both].mean()
    return cells


def _means_of(effects: Effects, place: int) -> list[LevelMean]:
    crossed = effects.crossed
    levels = level_places(crossed.arms, effects.factors)
    num_levels = [len(factor.levels) for factor in effects.factors]
    weights = differences_from_first(
        levels, num_levels, [effect.term for effect in effects.effects], place
    )
    made: list[LevelMean] = []
    for level in range(num_levels[place]):
        errors = crossed.errors[levels[:, place] == level]
        level_weights = weights[level - 1] if level else None
        made.append(
            LevelMean(
                factor=place,
                level=level,
                num_trials=errors.size,
                mean=float(errors.mean()) if errors.size else None,
                difference=None if level_weights is None else _difference(level_weights, crossed),
            )
        )
    return made


def _difference(weights: Float[np.ndarray, " arms"], crossed: CrossedErrors) -> Interval:
    """Return the difference with its interval over seeds and images, else over seeds."""
    num_seeds = len(crossed.seeds)
    if num_seeds < FEWEST_SEEDS:
        return Interval(num_seeds, float(weights @ crossed.errors.mean(axis=1)), None, None)
    if crossed.wrong is None:
        return mean_interval((weights @ crossed.errors).tolist())
    return two_way(crossed.sums(weights[None])[0], crossed.objects).interval(num_seeds)
