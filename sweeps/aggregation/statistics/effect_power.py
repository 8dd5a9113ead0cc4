"""The smallest effect in a grid of arms that a table of effects would find."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from sweeps.aggregation.statistics.rule_power import (
    LARGEST,
    POWER,
    VarianceParts,
    drawn_variance,
)
from sweeps.aggregation.statistics.two_way import TwoWay, two_way

_NODES_OF_SEEDS = 32
_NODES_OF_IMAGES = 8
_MOST_GROWTH = 6.0  # by `tools/acceptance/effects.py`: images are not all equally hard


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
    ) -> "GridParts":
        """Return the parts of all contrasts together, as they were seen.

        The variance over seeds is taken as often too large as too small.

        Args:
            wrong: 1 where an arm errs on an image.
            objects: Which object each image shows; None where each image is its own.
        """
        num_arms, num_seeds, _ = wrong.shape
        middle = wrong.mean(axis=0)
        apart, together = two_way(wrong - middle, objects), two_way(middle, objects)
        degrees = (num_arms - 1.0) * (num_seeds - 1)
        of_one, of_middle = (
            VarianceParts.of(replace(way, **_summed(way, over)))
            for way, over in ((apart, num_arms - 1), (together, 1))
        )
        of_one = of_one.with_middle_seeds(degrees, apart.num_clusters)
        return cls(
            of_one=of_one,
            common_seeds=max(of_middle.of_seeds - of_one.of_seeds / num_arms, 0.0),
            common_images=max(of_middle.of_images - of_one.of_images / num_arms, 0.0),
            error=float(wrong.mean()),
            num_arms=num_arms,
        )

    def at(self, effect: float) -> VarianceParts:
        """Return the parts of a contrast whose arms at one level err more than the others.

        What an effect D adds to the variance of one arm, D (1 - D), is of seeds, images and pairs
        as the rest is; half of the arms have it. Seeds and images that are hard for all arms do not
        cancel any more.

        Args:
            effect: D, a fraction.
        """
        one, usual = self.of_one, self.error * (1 - self.error)
        growth = _growth_of_seeds(effect, self.error)
        added = effect * (1 - effect) / usual if usual else 0.0
        of_half, of_common = 1 / 2, self.num_arms / 4
        return VarianceParts(
            of_seeds=of_half * (growth**2 + 1) * one.of_seeds
            + of_common * (growth - 1) ** 2 * self.common_seeds,
            of_images=one.of_images
            + added * (of_half * one.of_images + of_common * self.common_images),
            of_pairs=one.of_pairs * (1 + added * of_half),
        )


def _growth_of_seeds(effect: float, error: float) -> float:
    """Return by what factor seeds move arms with an effect more than the others, logits alike."""
    worse, usual = min(error + effect, 1.0), error * (1 - error)
    return min(max(worse * (1 - worse) / usual, 1.0), _MOST_GROWTH) if usual else 1.0


def _summed(way: TwoWay, over: int) -> dict[str, Float[np.ndarray, "..."]]:
    names = ("over_seeds", "over_images", "residual")
    return {name: np.asarray(getattr(way, name).sum() / over) for name in names}


@dataclass(frozen=True)
class EffectRequirement:
    """What the verdict on an effect asks for.

    Attributes:
        degrees: Contrasts that are tested together.
        length: Size of the effect that lies 1 off 0 in a contrast of length 1.
        level: That p has to be below: of Holm's first step.
        evidence_level: The same of p over seeds alone, where seeds were added after looking; None
            where none were.
        block_degrees: Degrees of freedom of the analysis of variance over seeds, which has to bear
            out what several contrasts say.
    """

    degrees: int
    length: float
    level: float
    evidence_level: float | None = None
    block_degrees: float = math.inf


def power_of_effect(
    parts: VarianceParts,
    num_seeds: int,
    num_clusters: int,
    effect: float,
    *,
    requirement: EffectRequirement,
) -> float:
    """Return how often a table would find a true effect.

    Source: as `rule_power.power_of_rule`, with the noncentral chi-square distribution for several
    contrasts that spread alike.

    Args:
        parts: The true ones: see `GridParts.at`.
        num_seeds: 2 at least.
        num_clusters: Images or objects, 2 at least.
        effect: A fraction.
        requirement: What the verdict requires.
    """
    from scipy.special import chndtr, fdtri

    true, num, level = parts.way(num_seeds, num_clusters), requirement.degrees, requirement.level
    each = num_seeds - 1.0
    of_seeds, seeds = drawn_variance(num * each, _NODES_OF_SEEDS)
    of_images, images = drawn_variance(num * (num_clusters - 1.0), _NODES_OF_IMAGES)
    seeds, images = true.over_seeds * seeds[:, None], true.over_images * images[None]
    together = seeds + images
    both = np.maximum(together - true.residual, np.maximum(seeds, images))
    alike = _seen_alike(num, each, np.asarray(1.0))
    below, of_rest = alike * each, num * (num_clusters - 1.0)
    joined = together**2 / (seeds**2 / below + images**2 / of_rest)
    bars = [
        variance * fdtri(above, degrees, 1 - level)
        for variance, above, degrees in (
            (both, _seen_alike(num, each, seeds / together), joined),
            (seeds, alike, below),
            (images, num, of_rest),
        )
    ]
    if num > 1 and math.isfinite(requirement.block_degrees):
        bars.append(true.over_seeds * fdtri(num, requirement.block_degrees, 1 - level))
    if requirement.evidence_level is not None:
        bars.append(seeds * fdtri(alike, below, 1 - requirement.evidence_level))
    bar = np.max(np.broadcast_arrays(*bars), axis=0)
    variance = float(true.over_seeds + true.over_images - true.residual)
    distance = (effect / requirement.length) ** 2 / variance
    found = 1 - chndtr(num * bar / variance, num, distance)
    return float((of_seeds[:, None] * of_images * found).sum())


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


def detectable_effect(
    parts: GridParts, num_seeds: int, num_clusters: int, requirement: EffectRequirement
) -> float:
    """Return the smallest true effect that a table finds four times out of five.

    Returns:
        A fraction, 1 for all beyond `LARGEST`; infinity where none can be found.
    """
    from scipy.optimize import brentq

    if requirement.evidence_level == 0:
        return math.inf

    def missing(effect: float) -> float:
        at = parts.at(effect)
        return power_of_effect(at, num_seeds, num_clusters, effect, requirement=requirement) - POWER

    if missing(LARGEST) < 0:
        return 1.0
    root: Any = brentq(missing, 0.0, LARGEST, xtol=1e-6)
    return float(root)
