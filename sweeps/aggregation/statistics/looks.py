"""How much of the significance level verdicts have at each of several planned looks.

A look takes verdicts at a planned number of seeds, and more seeds follow where they leave it open.
Taking each at the whole level would find a difference between equal arms in far more than one table
of twenty. So each look has a level of its own, such that all looks together keep the whole one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.shared_seeds import pool_degrees
from sweeps.aggregation.statistics.two_way import TwoWay

_POWER_OF_SPENDING = 2
_DRAWS = 1_000
_NODES = 200
_MOST_STANDARD_ERRORS = 12.0
_SURE = 0.05  # the lower tail of the variance over seeds: its limit is exceeded in one of twenty
_LEAST_GAIN = 0.1  # of the variance
SHARE_ALONE = 0.8


@dataclass(frozen=True)
class LookLevel:
    """The level of verdicts at one look.

    A look at s of at most S seeds has spent the share (s / S)^2 of the level, together with all
    looks before it; the last one spends the rest.

    Source: Lan and DeMets 1983, Discrete sequential boundaries for clinical trials; the family of
    spending functions of Kim and DeMets 1987. Difference: the looks' correlation is that of means
    over seeds alone. Images, which are the same at all looks, only raise it, so that the levels are
    somewhat lower than they could be, need no estimate and are known before the first look.

    Attributes:
        seeds: Numbers of seeds at the looks so far, this one last.
        most: The number of seeds at which the whole level is spent.
        is_last: Whether no look follows, so that this one has all that is left.
        num_others: Comparisons that this look does not test and no look has called different: they
            keep their part of the level.
        num_others_apart: Those that it does not test and no look has called equivalent: they keep
            their part of the level of equivalence.
        is_alone: Whether the sweep compares one arm alone. Bonferroni's bound over several leaves
            the reserve that skewed differences of unlike networks use up; here four fifths of the
            level leave it.
        num_data_sets: Over which the verdicts hold together, by Bonferroni's bound: each is looked
            at by itself.
    """

    seeds: tuple[int, ...]
    most: int
    is_last: bool
    num_others: int = 0
    num_others_apart: int = 0
    is_alone: bool = False
    num_data_sets: int = 1

    def of_each(self, num_comparisons: int) -> float:
        """Return the level of each of some comparisons, such that all looks at all of them keep it.

        Args:
            num_comparisons: By Bonferroni's bound.
        """
        level = SIGNIFICANCE / num_comparisons * (SHARE_ALONE if self.is_alone else 1)
        is_only = self.is_last and len(self.seeds) == 1
        return level if is_only else _levels(self.seeds, self.most, self.is_last, level)[-1]

    def confidence(self, num_comparisons: int) -> float:
        """Return the confidence of intervals that cover together in 95 % of all series of looks.

        Args:
            num_comparisons: How many there are on all data sets.
        """
        return 1 - self.of_each(max(num_comparisons, 1))

    def of_each_together(self, num_comparisons: int) -> float:
        """Return the level of each of so many comparisons on each data set."""
        return self.of_each(num_comparisons * self.num_data_sets)

    def share(self, num_comparisons: int) -> float:
        """Return `of_each_together` as a share of what one look at one data set would have."""
        return self.of_each_together(num_comparisons) / (SIGNIFICANCE / num_comparisons)


ONLY_LOOK = LookLevel((1,), 1, is_last=True)


@lru_cache(maxsize=1024)
def _levels(seeds: tuple[int, ...], most: int, is_last: bool, level: float) -> tuple[float, ...]:
    """Return the two-sided level of each look.

    The sum of independent increments is followed from look to look over what no look has rejected.

    Source: Armitage, McPherson and Rowe 1969; Gauss-Legendre nodes in place of their trapezoids.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr, roots_legendre

    nodes, weights = roots_legendre(_NODES)
    spent = [level * (number / most) ** _POWER_OF_SPENDING for number in seeds]
    if is_last:
        spent[-1] = level
    places, density = np.zeros(1), np.ones(1)  # of the sum so far, each a point with its mass
    levels: list[float] = []
    before, last_spent = 0, 0.0
    for number, total in zip(seeds, spent, strict=True):
        step, end = math.sqrt(number - before), math.sqrt(number)
        args = (places / step, density / (total - last_spent), end / step)
        found: Any = brentq(_excess, 0.0, _MOST_STANDARD_ERRORS, args=args)
        bound = float(found)
        levels.append(2 * float(ndtr(-bound)))
        new = nodes * bound * end
        distances = (new[:, None] - places) / step
        kernel = np.exp(-(distances**2) / 2) / (math.sqrt(2 * math.pi) * step)
        density = (kernel @ density) * weights * bound * end
        places, before, last_spent = new, number, total
    return tuple(levels)


def _excess(
    bound: float,
    places: Float[np.ndarray, " points"],
    mass: Float[np.ndarray, " points"],
    scale: float,
) -> float:
    """Return how much mass a step carries beyond a bound on either side, less 1.

    Args:
        bound: In standard errors.
        places: Before the step, in standard deviations of the step.
        mass: At each place, in multiples of what is to be carried.
        scale: Standard error in standard deviations of the step.
    """
    from scipy.special import ndtr

    return float(mass @ (ndtr(places - bound * scale) + ndtr(-bound * scale - places))) - 1


def are_images_the_limit(ways: TwoWay, most: int) -> Bool[np.ndarray, "..."]:
    """Return whether the seeds to come would hardly make the comparisons of a table more certain.

    With all of them the standard errors would shrink by 5 % at most, even if seeds vary more than
    these show (upper limit of 95 %). It looks at no difference, so that stopping by it favours
    none.

    Args:
        ways: The comparisons, the last axis those of one table.
        most: The number of seeds with all those to come.
    """
    from scipy.special import chdtri

    num = ways.over_seeds.shape[-1]
    degrees = pool_degrees(num, ways.num_seeds, np.asarray(1.0))
    seeds = ways.over_seeds.mean(axis=-1) * degrees / chdtri(degrees, 1 - _SURE)
    images = np.maximum(ways.over_images - ways.residual, 0.0).mean(axis=-1)
    gain = seeds * (1 - ways.num_seeds / most)
    return np.asarray(gain <= _LEAST_GAIN * (seeds + images))


def images_as_certain_as_seeds(ways: TwoWay, most: int) -> int:
    """Return how many test images would add as little to the variance as so many seeds do.

    Args:
        ways: The comparisons, the last axis those of one table.
        most: The number of seeds.

    Returns:
        A number with two digits that count.
    """
    images = float(np.maximum(ways.over_images - ways.residual, 0.0).mean())
    seeds = float(ways.over_seeds.mean()) * ways.num_seeds / most
    number = ways.num_clusters * images / seeds if seeds else float(ways.num_clusters)
    digits = max(math.floor(math.log10(max(number, 1.0))) - 1, 0)
    return int(round(number, -digits))


def mean_trainings(
    ways: Sequence[TwoWay],
    num_compared: int,
    difference: float,
    margin: float | None,
    *,
    num_data_sets: int = 1,
) -> float:
    """Return how many trainings a plan of looks takes on average, the baseline's among them.

    Normal differences with known variances are drawn, the same for each call. Every look is held to
    Bonferroni's bound over all arms, so that it is rather somewhat too many.

    Args:
        ways: The variance of a difference at each look, in order.
        num_compared: Arms besides the baseline.
        difference: By how much each of them truly differs, a fraction.
        margin: Of equivalence, a fraction; None for none.
        num_data_sets: As in `LookLevel`; the trainings are those of one of them.
    """
    from scipy.special import ndtri

    seeds = tuple(way.num_seeds for way in ways)
    chance = np.random.default_rng(0)
    size = (_DRAWS, num_compared + 1, seeds[-1])
    of_seed = np.sqrt(float(ways[0].over_seeds) * seeds[0] / 2) * chance.standard_normal(size)
    images = max(float(ways[-1].over_images - ways[-1].residual), 0.0)
    of_images = np.sqrt(images) * chance.standard_normal((_DRAWS, num_compared))
    used = np.zeros((_DRAWS, num_compared), dtype=int)
    is_open = np.ones_like(used, dtype=bool)
    for place, way in enumerate(ways):
        means = of_seed[..., : seeds[place]].mean(axis=-1)
        mean = np.abs(means[:, 1:] - means[:, :1] + of_images + difference)
        error = float(way.standard_error)
        level = LookLevel(
            seeds[: place + 1],
            seeds[-1],
            is_last=place == len(ways) - 1,
            is_alone=num_compared == 1,
            num_data_sets=num_data_sets,
        )
        bound = -float(ndtri(level.of_each_together(num_compared) / 2)) * error
        is_decided = mean > bound
        if margin is not None:
            is_decided |= mean + bound < margin
        used[is_open] = seeds[place]
        is_open &= ~is_decided
    return float((used.sum(axis=1) + used.max(axis=1)).mean())
