"""How often a table finds a true difference or effect, with any number of seeds and images.

The true variances are given. What a table sees of them is drawn, by the nodes of a quadrature
and not at random. The table's own rule then says what a mean has to pass.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from sweeps.aggregation.statistics.added_seeds import level_of_evidence
from sweeps.aggregation.statistics.joint_test import joint_errors
from sweeps.aggregation.statistics.shared_seeds import (
    APART,
    drawn_together,
    pool_degrees,
    prior_degrees,
)
from sweeps.aggregation.statistics.two_way import TwoWay, two_way

POWER = 0.8
"""That is asked for."""
_STEPS = 5
_MOST_GROWTH = 4.0  # by `tools/acceptance/statistics.py`: images are not all equally hard
_MOST_GROWTH_OF_EFFECT = 6.0  # the same, by `tools/acceptance/effects.py`
_LEAST_ERROR = 1e-9
_MOST_MOVED, _STEPS_MOVED = 6.0, 400  # standard deviations of the normal scale
FEWEST_ERRORS = 15
"""Of an arm, all seeds together: fewer do not show how far seeds and images move one.

By `tools/acceptance/statistics.py`: with 2 to 12 errors, the power at what would be printed was .33
to .70 instead of .8.
"""
LARGEST = 0.5
"""Differences beyond it are not reckoned: arms that differ so much do not vary as others do."""


class Nodes(NamedTuple):
    """How many values of each estimated variance stand for all that may be seen.

    Attributes:
        own: Of the variance over seeds of the compared arm.
        others: Of that of the other arms.
        images: Of the variance over images.
        images_of_effect: The same where an effect is tested.
    """

    own: int
    others: int
    images: int
    images_of_effect: int


FINE, COARSE = Nodes(32, 6, 6, 8), Nodes(14, 4, 3, 4)
"""Coarse ones take a sixth of the time, and move what is found by some percent."""


@dataclass(frozen=True)
class SeedErrors:
    """How the mean errors of seeds vary, and how they would if an arm erred more.

    Attributes:
        error: Mean of an arm that varies as those seen do, a fraction: that of the baseline, unless
            they are known to have erred more or less.
        of_arms: Variance of a seed's mean error of the compared arm, of which a part may be common
            to both; what few images add by chance taken off.
        of_baseline: The same of the baseline.
        places: Of all arms' seeds along the normal scale, about their arm's mean; what few images
            add by chance taken off.
        excess: By how much `error` exceeds the mean of the baseline.
        shrinking: How far to believe that an arm which errs less varies less: 0 not at all, 0.5 by
            halves, 1 as far as the law goes.
    """

    error: float
    of_arms: float
    of_baseline: float
    places: Float[np.ndarray, " seeds"]
    excess: float = 0.0
    shrinking: float = 0.5

    @classmethod
    def of(
        cls,
        baseline: Sequence[float],
        arms: Sequence[Sequence[float]],
        by_chance: float,
        num_clusters: int,
    ) -> "SeedErrors":
        """Return what errors of seeds show.

        Args:
            baseline: Error of each seed of the baseline.
            arms: The same of compared arms.
            by_chance: Part of the variance of a seed's error that few images add.
            num_clusters: Images or objects; a seed that errs on none of them may on half of one.
        """
        from scipy.special import ndtri

        least = 0.5 / num_clusters
        of_baseline, *of_arms = (float(np.var(errors, ddof=1)) for errors in (baseline, *arms))
        places = [ndtri(np.clip(errors, least, 1 - least)) for errors in (baseline, *arms)]
        spread = float(np.mean([of_baseline, *of_arms]))
        shrunk = math.sqrt(max(1 - by_chance / spread, 0.0)) if spread else 0.0
        return cls(
            error=float(np.mean(baseline)),
            of_arms=max(float(np.mean(of_arms)) - by_chance, 0.0),
            of_baseline=max(of_baseline - by_chance, 0.0),
            places=shrunk * np.concatenate([of_arm - of_arm.mean() for of_arm in places]),
        )

    def growth(self, difference: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Return by what factor seeds move an arm more than the baseline, as it errs more.

        All seeds are moved alike along the normal scale of `_growth`. Seeds that went astray err
        much already, and are moved less than their arm's usual ones.

        Args:
            difference: By how much the arm errs more, a fraction; below 0 where it errs less.
        """
        errors, spreads = self._moved
        usual = float(np.interp(self.error, errors, spreads))
        if usual < _LEAST_ERROR:
            return _growth(difference, self.error, self.shrinking)
        growth = np.interp(self.error + difference, errors, spreads) / usual
        return _believed(growth, difference, self.shrinking)

    @cached_property
    def _moved(self) -> tuple[Float[np.ndarray, " steps"], Float[np.ndarray, " steps"]]:
        """Mean errors of the seeds moved alike, with the standard deviations of each."""
        from scipy.special import ndtr

        moved = np.linspace(-_MOST_MOVED, _MOST_MOVED, _STEPS_MOVED)[:, None]
        errors = ndtr(self.places + moved)
        return errors.mean(axis=1), errors.std(axis=1)


@dataclass(frozen=True)
class VarianceParts:
    """The variances of a difference of two arms: of one seed, of one image and of one pair.

    Attributes:
        of_seeds: Variance of a seed's mean over all images.
        of_images: Variance of an image's mean over all seeds; of an object's where images are views
            of one.
        of_pairs: Variance of the rest, for one seed on one image.
        seeds: How the mean error of an arm changes with the difference; None where the parts are
            the same for any difference.
        clustering: By what factor `of_images` and `of_pairs` exceed those of single images; 1 where
            each image is its own.
    """

    of_seeds: float
    of_images: float
    of_pairs: float
    seeds: SeedErrors | None = None
    clustering: float = 1.0

    @classmethod
    def of(cls, way: TwoWay) -> "VarianceParts":
        """Return the parts of the comparisons of a table together, as they were seen.

        Args:
            way: One comparison or several.
        """
        seeds, clusters = way.num_seeds, way.num_clusters
        over_seeds, over_images, residual = (
            float(np.mean(part)) for part in (way.over_seeds, way.over_images, way.residual)
        )
        of_images, of_pairs = (
            max(over_images - residual, 0.0) * clusters,
            residual * seeds * clusters,
        )
        square = 0.0 if way.square is None else float(np.mean(way.square))
        return cls(
            of_seeds=max(over_seeds - residual, 0.0) * seeds,
            of_images=of_images,
            of_pairs=of_pairs,
            clustering=(of_images + of_pairs) / square if square else 1.0,
        )

    def with_errors(
        self,
        baseline: Sequence[float],
        arms: Sequence[Sequence[float]],
        num_clusters: int,
    ) -> "VarianceParts":
        """Return parts that change with the difference, by the mean errors of the seeds.

        Args:
            baseline: Error of each seed of the baseline, a fraction.
            arms: The same of compared arms.
            num_clusters: Images or objects that they were seen on.
        """
        by_chance = self.of_pairs / num_clusters / 2
        return replace(self, seeds=SeedErrors.of(baseline, arms, by_chance, num_clusters))

    def seen_at(self, excess: float) -> "VarianceParts":
        """Return parts of arms that did not err as the baseline when they were seen.

        Args:
            excess: How much more they erred, a fraction.
        """
        assert self.seeds is not None
        error = self.seeds.error + excess
        return replace(self, seeds=replace(self.seeds, error=error, excess=excess, shrinking=0.0))

    def erring_less(self, distance: float) -> "VarianceParts":
        """Return the parts of arms that err less than the baseline, none above those seen.

        They hold from five seeds on. Where a seed moves all arms alike, three or four found .45 to
        .80 of the arms that they were to find with power .8 (`FEWEST_IF_LESS` of seed plans).

        Args:
            distance: By how much they err less, a fraction.
        """
        assert self.seeds is not None
        shrinking = replace(self, seeds=replace(self.seeds, shrinking=1.0))
        of_seeds, of_images, of_pairs = map(float, shrinking._at(np.asarray(-distance)))
        return replace(
            self,
            of_seeds=min(of_seeds, self.of_seeds),
            of_images=min(of_images, self.of_images),
            of_pairs=min(of_pairs, self.of_pairs),
            seeds=None,
        )

    def with_seeds_at(
        self, confidence: float, degrees: float, num_clusters: int
    ) -> "VarianceParts":
        """Return the parts with the upper limit of the variance over seeds.

        By itself an estimated variance is too small in 63 of 100 cases at two degrees of freedom.

        Args:
            confidence: How often the limit is no smaller than the true variance; with .5 it is as
                often too large as too small.
            degrees: Degrees of freedom of the variance over seeds.
            num_clusters: Images or objects that it was seen on.
        """
        from scipy.special import chdtri

        of_pairs = self.of_pairs / num_clusters
        factor = degrees / float(chdtri(degrees, confidence))
        of_seeds = max((self.of_seeds + of_pairs) * factor - of_pairs, 0.0)
        return replace(self, of_seeds=of_seeds)

    def way(
        self,
        num_seeds: int,
        num_clusters: int,
        difference: Float[np.ndarray, "..."] | float = 0.0,
    ) -> TwoWay:
        """Return the parts of the variance of a mean over so many seeds and images.

        Args:
            num_seeds: S.
            num_clusters: Images or objects.
            difference: By how much the arm errs more than the baseline, a fraction; below 0 where
                it errs less.
        """
        of_seeds, of_images, of_pairs = self._at(np.asarray(difference, dtype=float))
        pairs = np.asarray(of_pairs / (num_seeds * num_clusters))
        seeds = np.asarray(of_seeds / num_seeds + pairs)
        images = np.asarray(of_images / num_clusters + pairs)
        none = np.zeros_like(pairs)
        return TwoWay(none, seeds, images, pairs, none, num_seeds, num_clusters)

    def _at(self, difference: Float[np.ndarray, "..."]) -> Sequence[Float[np.ndarray, "..."]]:
        """Return the parts of seeds, images and pairs where an arm errs more than the baseline.

        An arm that errs more has more images that are undecided. Its seeds differ more often on an
        image, in proportion to `_growth`, and move its mean error further, see `SeedErrors`. The
        rest of its p (1 - p) is what images differ by over all seeds. How far images that are hard
        for the baseline are hard for the arm stays as it is. Where an arm errs less, all of this is
        believed by halves, see `_believed`.
        """
        if self.seeds is None:
            every = (self.of_seeds, self.of_images, self.of_pairs)
            return [np.full_like(difference, part) for part in every]
        error, of_baseline = self.seeds.error, self.seeds.of_baseline
        difference = np.asarray(difference - self.seeds.excess)
        shrinking = self.seeds.shrinking
        growth = _growth(difference, error, shrinking)
        of_one_seed = self.seeds.growth(difference)
        of_arm = max(self.seeds.of_arms, self.of_seeds - of_baseline)
        more = (of_one_seed - 1) * (of_one_seed * of_arm - of_baseline)
        of_images, of_one = self.of_images / self.clustering, self.of_pairs / self.clustering / 2
        worse = np.clip(error + np.maximum(difference, shrinking * difference), 0.0, 1.0)
        usual = max(error * (1 - error) - of_one, of_images / 2)
        hard = np.maximum(worse * (1 - worse) - growth * of_one, 0.0)
        ratio = np.sqrt(hard / usual) if usual else np.ones_like(hard)
        every = (
            np.maximum(of_one_seed * self.of_seeds + more, 0.0),
            self.clustering * ((ratio - 1) ** 2 * usual + ratio * of_images),
            self.of_pairs * (1 + growth) / 2,
        )
        return [np.asarray(part) for part in every]


def _growth(
    difference: Float[np.ndarray, "..."] | float, error: float, shrinking: float
) -> Float[np.ndarray, "..."]:
    """Return by what factor seeds move an arm's error more than they move the baseline's.

    Seeds and chance move what a network errs on along a normal scale, as hardness of an image and
    all else is a sum of many parts: an error p moves as far as the density at its quantile.

    Args:
        difference: By how much the arm errs more, a fraction; below 0 where it errs less.
        error: That of the baseline.
        shrinking: See `SeedErrors`.
    """
    from scipy.special import ndtri

    worse, usual = (
        np.clip(rate, _LEAST_ERROR, 1 - _LEAST_ERROR) for rate in (error + difference, error)
    )
    growth = np.exp((ndtri(usual) ** 2 - ndtri(worse) ** 2) / 2)
    return _believed(growth, difference, shrinking)


def _believed(
    growth: Float[np.ndarray, "..."] | float,
    difference: Float[np.ndarray, "..."] | float,
    shrinking: float,
) -> Float[np.ndarray, "..."]:
    """Return a growth within its bounds: seeds that would move an arm less do so by halves.

    By `tools/acceptance/statistics.py`: an arm that errs less is found too often at the reach where
    its seeds are taken to move it as far as the baseline, and too seldom where the whole law holds.
    An arm that errs more never varies less.
    """
    least = np.where(np.asarray(difference) < 0, np.asarray(growth) ** shrinking, 1.0)
    return np.asarray(np.clip(growth, least, _MOST_GROWTH))


@dataclass(frozen=True)
class GridParts:
    """What makes a contrast of the arms of a grid vary, of length 1, where the arms err alike.

    Attributes:
        of_one: Its own parts: what differs between arms.
        common_seeds: Variance over seeds that all arms share, which a contrast does not see.
        common_images: The same of images, or of objects.
        error: Mean of all arms, a fraction.
        num_arms: Arms in the grid.
    """

    of_one: VarianceParts
    common_seeds: float
    common_images: float
    error: float
    num_arms: int

    @classmethod
    def of(
        cls,
        wrong: Float[np.ndarray, "arms seeds images"],
        objects: Int[np.ndarray, " images"] | None = None,
        confidence: float = 0.5,
    ) -> "GridParts":
        """Return the parts of all contrasts together, as they were seen.

        Args:
            wrong: 1 where an arm errs on an image.
            objects: Which object each image shows; None where each image is its own.
            confidence: How often the variance over seeds is no smaller than the true one.
        """
        num_arms, num_seeds, _ = wrong.shape
        middle = wrong.mean(axis=0)
        apart, together = two_way(wrong - middle, objects), two_way(middle, objects)
        degrees = (num_arms - 1.0) * (num_seeds - 1)
        of_one, of_middle = (
            VarianceParts.of(replace(way, **_summed(way, over)))
            for way, over in ((apart, num_arms - 1), (together, 1))
        )
        of_one = of_one.with_seeds_at(confidence, degrees, apart.num_clusters)
        return cls(
            of_one=of_one,
            common_seeds=max(of_middle.of_seeds - of_one.of_seeds / num_arms, 0.0),
            common_images=max(of_middle.of_images - of_one.of_images / num_arms, 0.0),
            error=float(wrong.mean()),
            num_arms=num_arms,
        )

    def at(self, effect: float) -> VarianceParts:
        """Return the parts of a contrast whose arms at one level err more than the others.

        An effect D adds D (1 - D) to the variance of one arm. It divides among seeds, images and
        pairs as the rest does. Half of the arms have it. Seeds and images that are hard for all
        arms no longer cancel.

        Args:
            effect: D, a fraction.
        """
        parts, usual = self.of_one, self.error * (1 - self.error)
        growth = _growth_of_effect(effect, self.error)
        added = effect * (1 - effect) / usual if usual else 0.0
        of_half, of_common = 1 / 2, self.num_arms / 4
        return VarianceParts(
            of_seeds=of_half * (growth**2 + 1) * parts.of_seeds
            + of_common * (growth - 1) ** 2 * self.common_seeds,
            of_images=parts.of_images
            + added * (of_half * parts.of_images + of_common * self.common_images),
            of_pairs=parts.of_pairs * (1 + added * of_half),
        )


def _growth_of_effect(effect: float, error: float) -> float:
    """Return by what factor seeds move arms with an effect more than the others, logits alike."""
    worse, usual = min(error + effect, 1.0), error * (1 - error)
    return min(max(worse * (1 - worse) / usual, 1.0), _MOST_GROWTH_OF_EFFECT) if usual else 1.0


def _summed(way: TwoWay, over: int) -> dict[str, Float[np.ndarray, "..."]]:
    names = ("over_seeds", "over_images", "residual")
    return {name: np.asarray(getattr(way, name).sum() / over) for name in names}


@dataclass(frozen=True)
class Requirement:
    """What a verdict asks for.

    Attributes:
        level: That p has to be below: of Holm's first step.
        log_e: What the evidence over seeds has to reach as well, where seeds were added after
            looking; None where none were.
        num_sharing: Comparisons that share their variances over seeds; 1 where each stands alone.
        num_contrasts: Contrasts of length 1 that an effect is tested by; 0 for two arms compared.
        block_degrees: Degrees of freedom of the analysis of variance over seeds, which has to bear
            out what several contrasts say.
    """

    level: float
    log_e: float | None = None
    num_sharing: int = 1
    num_contrasts: int = 0
    block_degrees: float = math.inf

    def level_over_seeds(self, num_seeds: int) -> float:
        """Return the bound of p over seeds alone; 1 where no seeds were added."""
        return 1.0 if self.log_e is None else level_of_evidence(num_seeds, self.log_e)


def power_of_rule(
    parts: VarianceParts,
    num_seeds: int,
    num_clusters: int,
    effect: float,
    *,
    requirement: Requirement,
    others: VarianceParts | None = None,
    nodes: Nodes = FINE,
) -> float:
    """Return how often a table would call a true difference different, or find a true effect.

    A mean has to pass three tests: by both directions together, by seeds alone and by images
    alone. The power is therefore below that of each test. Each test uses the spread that is seen.
    Gauss and Legendre's rule integrates over the spreads that may be seen; the rest is in closed
    form. The spread depends on the difference that is seen, as both come of the same errors: means
    pass from the smallest one on that passes with its own spread. Several contrasts that spread
    alike have to pass as a sum of squares.

    Where images count for nothing and the parts are the same for any difference, this is the power
    of the noncentral t distribution.

    Source: normal effects of seeds, images and pairs, the estimated variances of both directions
    independent and as chi-square: Satterthwaite 1946.

    Args:
        parts: The true ones; of an effect see `GridParts.at`.
        num_seeds: 2 at least.
        num_clusters: Images or objects, 2 at least.
        effect: The true difference, in the unit of the parts' roots; below 0 where an arm errs
            less.
        requirement: What the verdict requires.
        others: The true ones of the other comparisons of the table, whose arms err as the baseline
            does; None where they have the same.
        nodes: Of the quadrature.
    """
    if requirement.level_over_seeds(num_seeds) == 0:
        return 0.0
    weights, drawn = _drawn(num_seeds, num_clusters, requirement, nodes)
    of_others = float((others or parts).way(num_seeds, num_clusters).over_seeds)
    bar = np.full_like(weights, abs(effect))
    for _ in range(1 if parts.seeds is None else _STEPS):
        way = parts.way(num_seeds, num_clusters, np.copysign(bar, effect))
        seen = _seen(way, of_others, drawn, requirement.num_sharing)
        is_joint = requirement.num_contrasts > 0
        bar = _joint_bar(seen, way, requirement) if is_joint else _bar(seen, requirement)
    true = parts.way(num_seeds, num_clusters, effect)
    variance = np.asarray(true.over_seeds + true.over_images - true.residual)
    passing = _passing(bar, effect, variance, requirement.num_contrasts)
    return float((weights * passing).sum())


def detectable(
    power_at: Callable[[float], float], power: float = POWER, within: float = 1e-6
) -> float:
    """Return the smallest true difference that a table finds with some power.

    Args:
        power_at: How often it finds a difference.
        power: How often it is to be found.
        within: How far off the result may be.

    Returns:
        A fraction, 1 for all beyond `LARGEST`; infinity where no difference can be found, as so few
        seeds never reach the evidence required.
    """
    from scipy.optimize import brentq

    def missing(difference: float) -> float:
        return power_at(difference) - power

    at_largest = power_at(LARGEST)
    if at_largest < power:
        return 1.0 if at_largest else math.inf
    root: Any = brentq(missing, 0.0, LARGEST, xtol=within)
    return float(root)


def _drawn(
    num_seeds: int, num_clusters: int, requirement: Requirement, nodes: Nodes
) -> tuple[Float[np.ndarray, "own others images"], Sequence[Float[np.ndarray, "..."]]]:
    """Return what may be seen of variances whose true value is 1, with its weights.

    The seeds of the compared arm, those of the others, and the images are drawn independently,
    each in one direction of an array. The mean over all comparisons then has the degrees of freedom
    of `pool_degrees`.
    """
    num_sharing, num_contrasts = requirement.num_sharing, max(requirement.num_contrasts, 1)
    degrees = num_contrasts * (num_seeds - 1.0)
    num_images = nodes.images_of_effect if requirement.num_contrasts else nodes.images
    of_own, own = drawn_variance(degrees, nodes.own)
    of_images, images = drawn_variance(num_contrasts * (num_clusters - 1.0), num_images)
    of_others, others = np.ones(1), np.ones(1)
    if num_sharing > 1:
        pooled = float(pool_degrees(num_sharing, num_seeds, np.asarray(1.0)))
        beyond = 1 / pooled - 1 / (num_sharing**2 * degrees)
        of_others, others = drawn_variance((1 - 1 / num_sharing) ** 2 / beyond, nodes.others)
    weights = of_own[:, None, None] * of_others[:, None] * of_images
    return weights, (own[:, None, None], others[:, None], images[None, None])


def _seen(
    true: TwoWay,
    of_others: float,
    drawn: Sequence[Float[np.ndarray, "..."]],
    num_sharing: int,
) -> TwoWay:
    """Return what is seen of a comparison, its variance over seeds shared.

    Args:
        true: Its true variances, for each of those drawn.
        of_others: The true variance over seeds of the other comparisons.
        drawn: As `_drawn` returns it.
        num_sharing: Comparisons that share their variances over seeds.
    """
    own, others, images = drawn
    over_seeds = true.over_seeds * own
    seen = replace(true, over_seeds=over_seeds, over_images=true.over_images * images)
    if num_sharing < 2:
        return seen
    degrees = true.num_seeds - 1
    pool = (over_seeds + (num_sharing - 1) * of_others * others) / num_sharing
    prior = float(prior_degrees(num_sharing, true.num_seeds, np.asarray(1.0)))
    shared = drawn_together(over_seeds, pool, true.residual, prior=prior, degrees=degrees)
    of_arm = 2 * true.over_seeds - of_others  # half of `of_others` is the baseline's
    return replace(seen, shared=replace(shared, is_apart=of_arm * own > APART * of_others * others))


def _bar(seen: TwoWay, requirement: Requirement) -> Float[np.ndarray, "own others images"]:
    """Return what a mean has to pass, with the spread that is seen."""
    from scipy.special import stdtrit

    level = requirement.level_over_seeds(seen.num_seeds)
    over_seeds = float(stdtrit(seen.num_seeds - 1, 1 - level / 2)) * np.sqrt(seen.over_seeds)
    return np.maximum(seen.half_width(1 - requirement.level), over_seeds)


def _joint_bar(
    seen: TwoWay, true: TwoWay, requirement: Requirement
) -> Float[np.ndarray, "own others images"]:
    """Return what the mean square of contrasts has to pass, with the spread that is seen."""
    from scipy.special import fdtri

    num, level = requirement.num_contrasts, requirement.level
    alike = [
        _seen_alike(num, seen.num_seeds - 1.0, share)
        for share in (seen.over_seeds / (seen.over_seeds + seen.over_images), np.asarray(1.0))
    ]
    errors = joint_errors(seen, (*alike, np.asarray(float(num))))
    bars = [error.variance * fdtri(error.above, error.below, 1 - level) for error in errors]
    added = requirement.level_over_seeds(seen.num_seeds)
    bars.append(seen.over_seeds * fdtri(errors[1].above, errors[1].below, 1 - added))
    if num > 1 and math.isfinite(requirement.block_degrees):
        bars.append(true.over_seeds * fdtri(num, requirement.block_degrees, 1 - level))
    return np.max(np.broadcast_arrays(*bars), axis=0)


def _passing(
    bar: Float[np.ndarray, "..."],
    effect: float,
    variance: Float[np.ndarray, "..."],
    num_contrasts: int,
) -> Float[np.ndarray, "..."]:
    """Return how often a mean passes on either side, or the mean square of contrasts."""
    from scipy.special import chndtr, ndtr

    if num_contrasts:
        scaled = num_contrasts * bar / variance
        return np.asarray(1 - chndtr(scaled, num_contrasts, effect**2 / variance))
    error = np.sqrt(variance)
    return np.asarray(ndtr((effect - bar) / error) + ndtr((-effect - bar) / error))


@lru_cache(maxsize=64)
def drawn_variance(
    degrees: float, num_nodes: int
) -> tuple[Float[np.ndarray, " nodes"], Float[np.ndarray, " nodes"]]:
    """Return weights and values of an estimated variance whose true value is 1."""
    from scipy.special import chdtri, roots_legendre

    places, weights = roots_legendre(num_nodes)
    return weights / 2, np.asarray(chdtri(degrees, (1 - places) / 2)) / degrees


def _seen_alike(
    num: int, degrees: float, share: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """Return how many contrasts few seeds show to spread alike, of some that truly do.

    Source: expected squared trace and trace of the square of a Wishart matrix, for the degrees of
    freedom of Box 1954.

    Args:
        num: Contrasts.
        degrees: Degrees of freedom of their covariance over seeds.
        share: Of the variance that seeds make; that of images has very many degrees.
    """
    squared = share**2 / degrees
    return np.asarray((num + 2 * squared) / (1 + (num + 1) * squared))
