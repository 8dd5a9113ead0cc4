"""How much of the variance of a full grid's arms each factor and each pair explains."""

import itertools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from sweeps.aggregation.results.crossed_errors import CrossedErrors
from sweeps.aggregation.results.factor_effects import Effects
from sweeps.aggregation.results.factors import level_places
from sweeps.aggregation.statistics.contrasts import ABSENT, Term, all_terms
from sweeps.aggregation.statistics.covariances import mean_covariances, over_seeds
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.statistics.shapley import GridVariance, grid_variance
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS

_MOST_POINTS = 1000


@dataclass(frozen=True)
class VarianceShare:
    """The part of a factor or pair in the variance of the arms, a fraction.

    Attributes:
        term: The factor or pair.
        shapley: A factor's own part and half of those of its pairs; None for a pair.
        alone: Its own part only.
    """

    term: Term
    shapley: Interval | None
    alone: Interval


@dataclass(frozen=True)
class VarianceShares:
    """The variance of the arms, split into parts.

    Attributes:
        shares: Shares of factors, then of pairs; empty where `why_none` says why.
        why_none: Why there are none, else "".
        covers_images: Whether the noise of images was subtracted as well.
    """

    shares: tuple[VarianceShare, ...]
    why_none: str = ""
    covers_images: bool = False


def variance_shares(effects: Effects) -> VarianceShares:
    """Return exact Shapley shares of a full factorial, without the noise of seeds and images.

    Intervals are over seeds, each left out once (jackknife), with t of one fewer than seeds.

    Args:
        effects: The design's effects.
    """
    crossed = effects.crossed
    points = _arms_of_points(effects)
    if points is None:
        return VarianceShares((), "not every combination of levels has a result")
    if len(points) > _MOST_POINTS:
        return VarianceShares((), f"there are more than {_MOST_POINTS:,} combinations")
    if len(crossed.seeds) < FEWEST_SEEDS:
        return VarianceShares((), "there are fewer than three seeds")
    shape = tuple(len(factor.levels) for factor in effects.factors)
    every = [*range(len(crossed.seeds))]
    of_all_seeds = _parts(crossed, points, shape, every)
    without = [
        _parts(crossed, points, shape, [s for s in every if s != left_out]) for left_out in every
    ]
    if min(parts.total for parts in (of_all_seeds, *without)) <= 0:
        return VarianceShares((), "the arms do not differ by more than seeds and images do")
    shares = tuple(_share(term, of_all_seeds, without) for term in all_terms(len(shape)))
    return VarianceShares(shares, covers_images=crossed.wrong is not None)


def _arms_of_points(effects: Effects) -> Int[np.ndarray, " points"] | None:
    """Return the place of the arm at each point of the grid; None if a point has no arm.

    An arm without a setting stands at every level of it.
    """
    levels = level_places(effects.crossed.arms, effects.factors)
    if effects.crossed.left_out:
        return None
    grid = itertools.product(*(range(len(factor.levels)) for factor in effects.factors))
    places: list[int] = []
    for point in grid:
        is_at_point = ((levels == np.array(point)) | (levels == ABSENT)).all(axis=1)
        if is_at_point.sum() != 1:
            return None
        places.append(int(is_at_point.argmax()))
    return np.array(places)


def _parts(
    crossed: CrossedErrors,
    points: Int[np.ndarray, " points"],
    shape: tuple[int, ...],
    seeds: list[int],
) -> GridVariance:
    errors = crossed.errors[:, seeds]
    if crossed.wrong is None:
        noise = over_seeds(errors)
    else:
        noise = mean_covariances(crossed.wrong[:, seeds], crossed.objects).both
    return grid_variance(shape, errors.mean(axis=1)[points], noise[np.ix_(points, points)])


def _share(term: Term, of_all_seeds: GridVariance, without: list[GridVariance]) -> VarianceShare:
    def alone(parts: GridVariance) -> float:
        part = parts.parts[term] if len(term) == 1 else parts.of_pair(*term)
        return part / parts.total

    def shapley(parts: GridVariance) -> float:
        return parts.of_factor(term[0]) / parts.total

    return VarianceShare(
        term,
        _jackknifed(shapley(of_all_seeds), [*map(shapley, without)]) if len(term) == 1 else None,
        _jackknifed(alone(of_all_seeds), [*map(alone, without)]),
    )


def _jackknifed(value: float, without: list[float]) -> Interval:
    from scipy.special import stdtrit

    num = len(without)
    spread = float(((np.array(without) - np.mean(without)) ** 2).sum())
    half = float(stdtrit(num - 1, 0.975)) * (spread * (num - 1) / num) ** 0.5
    return Interval(num, value, value - half, value + half)
