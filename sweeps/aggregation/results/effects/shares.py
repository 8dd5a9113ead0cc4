"""How much of what the arms of a whole grid differ by goes back to each factor and each two."""

import itertools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from sweeps.aggregation.results.effects.crossed_errors import CrossedErrors
from sweeps.aggregation.results.effects.effects import Effects
from sweeps.aggregation.results.effects.factors import level_places
from sweeps.aggregation.statistics.contrasts import ABSENT, Term, all_terms
from sweeps.aggregation.statistics.covariances import mean_covariances, over_seeds
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.statistics.shapley import VarianceParts, variance_parts
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS

_MOST_POINTS = 1000


@dataclass(frozen=True)
class Share:
    """A part of the variance of the arms, in fractions of it.

    Attributes:
        term: A factor or a pair.
        shapley: Of a factor, its own part and half of those of its pairs; None of a pair.
        alone: Its own part.
    """

    term: Term
    shapley: Interval | None
    alone: Interval


@dataclass(frozen=True)
class Shares:
    """The variance of the arms in parts.

    Attributes:
        shares: Of factors, then of pairs; none where there is nothing to share.
        why_none: Why there are none, "" where there are.
        covers_images: Whether what images add was taken off as well.
    """

    shares: tuple[Share, ...]
    why_none: str = ""
    covers_images: bool = False


def shares_of(found: Effects) -> Shares:
    """Return exact Shapley shares of a full factorial, without what seeds and images add.

    Intervals are over seeds, each left out once (jackknife), with t of one fewer than seeds.

    Args:
        found: Effects of the design.
    """
    crossed = found.crossed
    points = _arms_of_points(found)
    if points is None:
        return Shares((), "not every combination of levels has a result")
    if len(points) > _MOST_POINTS:
        return Shares((), f"there are more than {_MOST_POINTS:,} combinations")
    if len(crossed.seeds) < FEWEST_SEEDS:
        return Shares((), "there are fewer than three seeds")
    shape = tuple(len(factor.levels) for factor in found.factors)
    every = [*range(len(crossed.seeds))]
    whole = _parts(crossed, points, shape, every)
    without = [_parts(crossed, points, shape, [s for s in every if s != one]) for one in every]
    if min(parts.total for parts in (whole, *without)) <= 0:
        return Shares((), "the arms do not differ by more than seeds and images do")
    shares = tuple(_share(term, whole, without) for term in all_terms(len(shape)))
    return Shares(shares, covers_images=crossed.wrong is not None)


def _arms_of_points(found: Effects) -> Int[np.ndarray, " points"] | None:
    """Return the place of the arm at each point of the grid, None where one has none.

    An arm without a setting stands at every level of it.
    """
    levels = level_places(found.crossed.arms, found.factors)
    if found.crossed.left_out:
        return None
    grid = itertools.product(*(range(len(factor.levels)) for factor in found.factors))
    places: list[int] = []
    for point in grid:
        is_there = ((levels == np.array(point)) | (levels == ABSENT)).all(axis=1)
        if is_there.sum() != 1:
            return None
        places.append(int(is_there.argmax()))
    return np.array(places)


def _parts(
    crossed: CrossedErrors,
    points: Int[np.ndarray, " points"],
    shape: tuple[int, ...],
    seeds: list[int],
) -> VarianceParts:
    errors = crossed.errors[:, seeds]
    if crossed.wrong is None:
        noise = over_seeds(errors)
    else:
        noise = mean_covariances(crossed.wrong[:, seeds], crossed.objects).both
    return variance_parts(shape, errors.mean(axis=1)[points], noise[np.ix_(points, points)])


def _share(term: Term, whole: VarianceParts, without: list[VarianceParts]) -> Share:
    def alone(parts: VarianceParts) -> float:
        own = parts.parts[term] if len(term) == 1 else parts.of_pair(*term)
        return own / parts.total

    def shapley(parts: VarianceParts) -> float:
        return parts.of_factor(term[0]) / parts.total

    return Share(
        term,
        _jackknifed(shapley(whole), [*map(shapley, without)]) if len(term) == 1 else None,
        _jackknifed(alone(whole), [*map(alone, without)]),
    )


def _jackknifed(value: float, without: list[float]) -> Interval:
    from scipy.special import stdtrit

    num = len(without)
    spread = float(((np.array(without) - np.mean(without)) ** 2).sum())
    half = float(stdtrit(num - 1, 0.975)) * (spread * (num - 1) / num) ** 0.5
    return Interval(num, value, value - half, value + half)
