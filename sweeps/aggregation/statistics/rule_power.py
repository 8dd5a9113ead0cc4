"""How often the rule of tables finds a true difference, with any number of seeds and images."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.statistics.added_seeds import level_of_evidence
from sweeps.aggregation.statistics.two_way import TwoWay

_NODES_OF_SEEDS = 32
_NODES_OF_IMAGES = 8


@dataclass(frozen=True)
class VarianceParts:
    """What makes a difference of two arms vary, whatever is counted: variances of one each.

    Attributes:
        of_seeds: Variance of a seed's mean over all images.
        of_images: Variance of an image's mean over all seeds; of an object's where images are views
            of one.
        of_pairs: Variance of the rest, for one seed on one image.
    """

    of_seeds: float
    of_images: float
    of_pairs: float

    def way(self, num_seeds: int, num_clusters: int) -> TwoWay:
        """Return the parts of the variance of a mean over so many seeds and images."""
        pairs = self.of_pairs / (num_seeds * num_clusters)
        parts = (self.of_seeds / num_seeds + pairs, self.of_images / num_clusters + pairs, pairs)
        seeds, images, rest, none = map(np.asarray, (*parts, 0.0))
        return TwoWay(none, seeds, images, rest, none, num_seeds, num_clusters)


@dataclass(frozen=True)
class Requirement:
    """What a verdict asks for.

    Attributes:
        level: That p has to be below: of Holm's first step.
        log_e: What the evidence over seeds has to reach as well, where seeds were added after
            looking; None where none were.
    """

    level: float
    log_e: float | None = None


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
        parts: The true ones.
        num_seeds: 2 at least.
        num_clusters: Images or objects, 2 at least.
        effect: The true difference, in the unit of the parts' roots.
        requirement: What the verdict requires.
    """
    from scipy.special import ndtr

    true = parts.way(num_seeds, num_clusters)
    weights_of_seeds, seeds = _drawn(num_seeds - 1, _NODES_OF_SEEDS)
    weights_of_images, images = _drawn(num_clusters - 1, _NODES_OF_IMAGES)
    shape = np.ones((len(seeds), len(images)))
    seen = TwoWay(
        mean=true.mean * shape,
        over_seeds=true.over_seeds * seeds[:, None] * shape,
        over_images=true.over_images * images * shape,
        residual=true.residual * shape,
        largest=true.largest * shape,
        num_seeds=num_seeds,
        num_clusters=num_clusters,
    )
    bar = _bar(seen, requirement)
    error = np.sqrt(true.over_seeds + true.over_images - true.residual)
    power = ndtr((effect - bar) / error) + ndtr((-effect - bar) / error)
    return float(weights_of_seeds @ power @ weights_of_images)


def _bar(seen: TwoWay, requirement: Requirement) -> Float[np.ndarray, "seeds_draws images_draws"]:
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


def _drawn(
    degrees: int, num_nodes: int
) -> tuple[Float[np.ndarray, " nodes"], Float[np.ndarray, " nodes"]]:
    """Return weights and values of an estimated variance whose true value is 1."""
    from scipy.special import roots_legendre
    from scipy.stats import chi2

    places, weights = roots_legendre(num_nodes)
    return weights / 2, np.asarray(chi2.ppf((places + 1) / 2, degrees)) / degrees
