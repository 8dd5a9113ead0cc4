"""Means by level: what the arms with each level of a factor come to, and each two of them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.results.effects.crossed_errors import CrossedErrors
from sweeps.aggregation.results.effects.effects import Effects
from sweeps.aggregation.results.effects.factors import level_places
from sweeps.aggregation.statistics.contrasts import differences_from_first
from sweeps.aggregation.statistics.intervals import Interval, mean_interval
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS, two_way


@dataclass(frozen=True)
class LevelMean:
    """The arms that have one level of a factor.

    Attributes:
        factor: Place of the factor.
        level: Place of the level.
        num_trials: That are in the mean.
        mean: Test error, a fraction; None where there is no such arm.
        difference: From the first level, by the model; None for that one, and where the arms
            cannot tell it.
    """

    factor: int
    level: int
    num_trials: int
    mean: float | None
    difference: Interval | None


def level_means(found: Effects) -> list[LevelMean]:
    """Return a mean a level, factor by factor."""
    return [one for place in range(len(found.factors)) for one in _means_of(found, place)]


def cell_means(found: Effects, first: int, second: int) -> Float[np.ndarray, "first second"]:
    """Return the mean of the arms that have both levels, NaN where there is none."""
    levels = level_places(found.crossed.arms, found.factors)
    means = found.crossed.errors.mean(axis=1)
    shape = (len(found.factors[first].levels), len(found.factors[second].levels))
    cells = np.full(shape, np.nan)
    for row, column in np.ndindex(*shape):
        has_both = (levels[:, first] == row) & (levels[:, second] == column)
        if has_both.any():
            cells[row, column] = means[has_both].mean()
    return cells


def _means_of(found: Effects, place: int) -> list[LevelMean]:
    crossed = found.crossed
    levels = level_places(crossed.arms, found.factors)
    num_levels = [len(factor.levels) for factor in found.factors]
    weights = differences_from_first(levels, num_levels, [one.term for one in found.effects], place)
    made: list[LevelMean] = []
    for level in range(num_levels[place]):
        own = crossed.errors[levels[:, place] == level]
        own_weights = weights[level - 1] if level else None
        made.append(
            LevelMean(
                factor=place,
                level=level,
                num_trials=own.size,
                mean=float(own.mean()) if own.size else None,
                difference=None if own_weights is None else _difference(own_weights, crossed),
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
    way = two_way(crossed.sums(weights[None])[0], crossed.objects)
    mean, half = float(way.mean), float(way.half_width())
    return Interval(num_seeds, mean, mean - half, mean + half)
