"""How often the rule of tables finds a true difference, with any number of seeds and images."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.statistics.added_seeds import level_of_evidence
from sweeps.aggregation.statistics.shared_seeds import (
    APART,
    drawn_together,
    pool_degrees,
    prior_degrees,
)
from sweeps.aggregation.statistics.two_way import TwoWay

POWER = 0.8
"""That is asked for."""
_NODES_OF_SEEDS = 32
_NODES_OF_OTHERS = 8
_NODES_OF_IMAGES = 8
_MOST_GROWTH = 6.0  # by `tools/acceptance/statistics.py`: images are not all equally hard
FEWEST_ERRORS = 15
"""Of an arm, all seeds together: fewer do not show how far seeds and images move one.

By `tools/acceptance/statistics.py`: with 2 to 12 errors, the power at what would be printed was .33
to .70 instead of .8.
"""
LARGEST = 0.5
"""Differences beyond it are not reckoned: arms that differ so much do not vary as others do."""


@dataclass(frozen=True)
class VarianceParts:
    """What makes a difference of two arms vary, whatever is counted: variances of one each.

    Attributes:
        of_seeds: Variance of a seed's mean over all images.
        of_images: Variance of an image's mean over all seeds; of an object's where images are views
            of one.
        of_pairs: Variance of the rest, for one seed on one image.
        of_arms: Variance of a seed's mean error of one arm, of which a part may be common to both;
            0 where it is not known.
    """

    of_seeds: float
    of_images: float
    of_pairs: float
    of_arms: float = 0.0

    @classmethod
    def of(cls, way: TwoWay, of_arms: float = 0.0) -> "VarianceParts":
        """Return the parts of the comparisons of a table together, as they were seen.

        Args:
            way: One comparison or several.
            of_arms: Variance over seeds of the mean error of one arm, as it was seen.
        """
        seeds, clusters = way.num_seeds, way.num_clusters
        over_seeds, over_images, residual = (
            float(np.mean(part)) for part in (way.over_seeds, way.over_images, way.residual)
        )
        of_seeds = max(over_seeds - residual, 0.0) * seeds
        return cls(
            of_seeds=of_seeds,
            of_images=max(over_images - residual, 0.0) * clusters,
            of_pairs=residual * seeds * clusters,
            of_arms=max(of_arms - residual * seeds / 2, of_seeds / 2),
        )

    def with_middle_seeds(self, degrees: float, num_clusters: int) -> "VarianceParts":
        """Return the parts where the variance over seeds is as often too large as too small.

        By itself an estimated variance is too small in 63 of 100 cases at two degrees of freedom.

        Args:
            degrees: Degrees of freedom of the variance over seeds.
            num_clusters: Images or objects that it was seen on.
        """
        from scipy.special import chdtri

        of_pairs, factor = self.of_pairs / num_clusters, degrees / float(chdtri(degrees, 0.5))
        of_seeds = max((self.of_seeds + of_pairs) * factor - of_pairs, 0.0)
        return replace(self, of_seeds=of_seeds, of_arms=max(self.of_arms, of_seeds / 2))

    def at(self, difference: float, error: float) -> "VarianceParts":
        """Return the parts of an arm that errs more than the baseline, by those of arms alike.

        Errors are 0 or 1 an image: a difference D adds D (1 - D) to the variance of one seed on one
        image. Images and pairs have it in the proportion in which they have the rest. The arm's
        seeds move its error p as they move that of the baseline on the logit scale: by a standard
        deviation that goes with p (1 - p).

        Args:
            difference: D, a fraction.
            error: That of the baseline, a fraction.
        """
        added, rest = difference * (1 - difference), self.of_images + self.of_pairs
        share = self.of_images / rest if rest else 1.0
        growth = growth_of_seeds(difference, error)
        of_arms = max(self.of_arms, self.of_seeds / 2)
        return replace(
            self,
            of_seeds=growth * self.of_seeds + (growth - 1) ** 2 * of_arms,
            of_images=self.of_images + share * added,
            of_pairs=self.of_pairs + (1 - share) * added,
        )

    def way(self, num_seeds: int, num_clusters: int) -> TwoWay:
        """Return the parts of the variance of a mean over so many seeds and images."""
        pairs = self.of_pairs / (num_seeds * num_clusters)
        parts = (self.of_seeds / num_seeds + pairs, self.of_images / num_clusters + pairs, pairs)
        seeds, images, rest, none = map(np.asarray, (*parts, 0.0))
        return TwoWay(none, seeds, images, rest, none, num_seeds, num_clusters)


def growth_of_seeds(difference: float, error: float) -> float:
    """Return by what factor seeds move an arm's error more than they move the baseline's.

    Args:
        difference: By how much the arm errs more, a fraction.
        error: That of the baseline.
    """
    worse, usual = min(error + difference, 1.0), error * (1 - error)
    return min(max(worse * (1 - worse) / usual, 1.0), _MOST_GROWTH) if usual else 1.0


@dataclass(frozen=True)
class Requirement:
    """What a verdict asks for.

    Attributes:
        level: That p has to be below: of Holm's first step.
        log_e: What the evidence over seeds has to reach as well, where seeds were added after
            looking; None where none were.
        num_sharing: Comparisons that share their variances over seeds; 1 where each stands alone.
    """

    level: float
    log_e: float | None = None
    num_sharing: int = 1


def power_of_rule(
    parts: VarianceParts,
    num_seeds: int,
    num_clusters: int,
    effect: float,
    *,
    requirement: Requirement,
) -> float:
    """Return how often a table would call a true difference different.

    A mean has to pass by both directions together, by seeds alone and by images alone, each with
    the spread that is then seen, so that the power is below that of each of the three. What is
    seen of either spread is drawn over by Gauss and Legendre's rule; the rest is in closed form.
    Where images count for nothing it is the noncentral t distribution's.

    Source: normal effects of seeds, images and pairs, the estimated variances of both directions
    independent and as chi-square: Satterthwaite 1946.

    Args:
        parts: The true ones: see `VarianceParts.at`.
        num_seeds: 2 at least.
        num_clusters: Images or objects, 2 at least.
        effect: The true difference, in the unit of the parts' roots.
        requirement: What the verdict requires.
    """
    from scipy.special import ndtr

    true = parts.way(num_seeds, num_clusters)
    weights, seen = _seen(true, requirement.num_sharing)
    bar = _bar(seen, requirement)
    error = np.sqrt(true.over_seeds + true.over_images - true.residual)
    power = ndtr((effect - bar) / error) + ndtr((-effect - bar) / error)
    return float((weights * power).sum())


def detectable_by_rule(
    parts: VarianceParts,
    num_seeds: int,
    num_clusters: int,
    *,
    error: float,
    requirement: Requirement,
    power: float = POWER,
) -> float:
    """Return the smallest true difference that a table finds with some power.

    Args:
        parts: Of arms that hardly differ.
        num_seeds: 2 at least.
        num_clusters: Images or objects, 2 at least.
        error: That of the baseline, a fraction.
        requirement: What the verdict requires.
        power: How often it is to be found.

    Returns:
        A fraction, 1 for all beyond `LARGEST`; infinity where no difference can be found, as so few
        seeds never reach the evidence required.
    """
    from scipy.optimize import brentq

    evidence = requirement.log_e
    if evidence is not None and level_of_evidence(num_seeds, evidence) == 0:
        return math.inf

    def missing(difference: float) -> float:
        found = power_of_rule(
            parts.at(difference, error),
            num_seeds,
            num_clusters,
            difference,
            requirement=requirement,
        )
        return found - power

    if missing(LARGEST) < 0:
        return 1.0
    root: Any = brentq(missing, 0.0, LARGEST, xtol=1e-6)
    return float(root)


def _seen(true: TwoWay, num_sharing: int) -> tuple[Float[np.ndarray, "own others images"], TwoWay]:
    """Return what may be seen of true variances, with its weights.

    The seeds of the compared arm, those of the others, and the images are drawn independently,
    each in one direction of an array.
    """
    degrees = true.num_seeds - 1
    of_own, own = drawn_variance(float(degrees), _NODES_OF_SEEDS)
    of_images, images = drawn_variance(true.num_clusters - 1.0, _NODES_OF_IMAGES)
    usual = np.asarray(1.0)
    of_others, others = (
        drawn_variance(float(pool_degrees(num_sharing, true.num_seeds, usual)), _NODES_OF_OTHERS)
        if num_sharing > 1
        else (np.ones(1), np.ones(1))
    )
    own, others, images = own[:, None, None], others[:, None], images[None, None]
    shape = np.broadcast_shapes(own.shape, others.shape, images.shape)
    weights = of_own[:, None, None] * of_others[:, None] * of_images

    def spread(value: Float[np.ndarray, "..."]) -> Float[np.ndarray, "own others images"]:
        return np.broadcast_to(value, shape)

    over_seeds = spread(true.over_seeds * own)
    seen = TwoWay(
        mean=spread(true.mean),
        over_seeds=over_seeds,
        over_images=spread(true.over_images * images),
        residual=spread(true.residual),
        largest=spread(true.largest),
        num_seeds=true.num_seeds,
        num_clusters=true.num_clusters,
    )
    if num_sharing < 2:
        return weights, seen
    pool = true.over_seeds * (own + (num_sharing - 1) * others) / num_sharing
    prior = float(prior_degrees(num_sharing, true.num_seeds, usual))
    shared = drawn_together(over_seeds, spread(pool), true.residual, prior=prior, degrees=degrees)
    return weights, replace(
        seen, shared=replace(shared, is_apart=np.broadcast_to(own > APART * others, shape))
    )


def _bar(seen: TwoWay, requirement: Requirement) -> Float[np.ndarray, "own others images"]:
    """Return what a mean has to pass, with the spread that is seen."""
    bar = seen.half_width(1 - requirement.level)
    if requirement.log_e is None:
        return bar
    from scipy.special import stdtrit

    level = level_of_evidence(seen.num_seeds, requirement.log_e)
    if level == 0:
        return np.full_like(bar, np.inf)
    asked = float(stdtrit(seen.num_seeds - 1, 1 - level / 2))
    return np.maximum(bar, asked * np.sqrt(seen.over_seeds))


def drawn_variance(
    degrees: float, num_nodes: int
) -> tuple[Float[np.ndarray, " nodes"], Float[np.ndarray, " nodes"]]:
    """Return weights and values of an estimated variance whose true value is 1."""
    from scipy.special import chdtri, roots_legendre

    places, weights = roots_legendre(num_nodes)
    return weights / 2, np.asarray(chdtri(degrees, (1 - places) / 2)) / degrees
