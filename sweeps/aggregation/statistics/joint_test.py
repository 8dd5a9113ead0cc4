"""Several contrasts tested at once: whether any of them would stand with new seeds and images."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from sweeps.aggregation.statistics.covariances import mean_covariances
from sweeps.aggregation.statistics.two_way import TwoWay, two_way


@dataclass(frozen=True)
class JointError:
    """The error variance against which several contrasts are tested.

    Attributes:
        variance: Variance of all contrasts, added up.
        above: Degrees of freedom of the contrasts: as many as spread alike.
        below: Degrees of freedom of the variance.
    """

    variance: Float[np.ndarray, "..."]
    above: Float[np.ndarray, "..."]
    below: Float[np.ndarray, "..."]


@dataclass(frozen=True)
class JointTest:
    """An F test in each of two directions, and in both together, of one or many tables.

    Of a single contrast it says what `TwoWay` says.

    Attributes:
        way: Two-way statistics of the contrasts along the last axis.
        errors: Error terms of both directions, of seeds and of images.
    """

    way: TwoWay
    errors: tuple[JointError, JointError, JointError]

    @property
    def p_value(self) -> Float[np.ndarray, "..."]:
        """Of contrasts that are all 0; the largest by each of `errors`, 1 where all seeds agree."""
        return np.asarray(np.max([self._p_value(error) for error in self.errors], axis=0))

    def _p_value(self, error: JointError) -> Float[np.ndarray, "..."]:
        from scipy.special import fdtrc

        squared, variance = np.asarray((self.way.mean**2).sum(axis=-1)), error.variance
        ratio = np.divide(squared, variance, out=np.zeros_like(squared), where=variance > 0)
        return np.asarray(fdtrc(error.above, error.below, ratio))


def joint_test(
    differences: Float[np.ndarray, "... contrasts seeds images"],
    objects: Int[np.ndarray, " images"] | None = None,
) -> JointTest:
    """Return whether any contrast differs from 0.

    Where the contrasts do not spread alike the degrees of freedom are fewer, as Box has it.

    Source: Box 1954, Some theorems on quadratic forms; the directions joined as in `two_way`.

    Args:
        differences: Value of each contrast for each seed and image; the contrasts are orthogonal.
        objects: Which object each image shows; None where each image is its own.

    Raises:
        ValueError: If there are fewer than 2 seeds or 2 images or objects.
    """
    way = two_way(differences, objects)
    spread = mean_covariances(differences, objects)
    parts = ("over_seeds", "over_images", "residual")
    summed = {name: np.asarray(getattr(way, name).sum(axis=-1)) for name in parts}
    of_seeds, of_images = spread.over_seeds, spread.over_images
    alike = (_alike(of_seeds + of_images), _alike(of_seeds), _alike(of_images))
    return JointTest(way, joint_errors(replace(way, **summed), alike))


def joint_errors(
    way: TwoWay, alike: Sequence[Float[np.ndarray, "..."]]
) -> tuple[JointError, JointError, JointError]:
    """Return the error terms of contrasts: both directions, seeds alone, and images alone.

    Args:
        way: Variances of all contrasts together, or of each.
        alike: How many contrasts spread alike in both directions, over seeds, and over images.
    """
    joined, of_seeds, of_images = alike
    below = np.asarray(of_seeds * (way.num_seeds - 1))
    of_rest = np.asarray(of_images * (way.num_clusters - 1))
    together = np.asarray(way.over_seeds + way.over_images)
    parts = way.over_seeds**2 / below + way.over_images**2 / of_rest
    degrees = np.where(parts > 0, together**2 / np.where(parts > 0, parts, 1.0), below)
    larger = np.maximum(way.over_seeds, way.over_images)
    both = np.asarray(np.maximum(together - way.residual, larger))
    return (
        JointError(both, joined, degrees),
        JointError(way.over_seeds, of_seeds, below),
        JointError(way.over_images, of_images, of_rest),
    )


def _alike(covariance: Float[np.ndarray, "... n n"]) -> Float[np.ndarray, "..."]:
    """Return how many contrasts spread as much as these do, 1 where none spreads."""
    trace = np.trace(covariance, axis1=-2, axis2=-1)
    squares = (covariance**2).sum(axis=(-2, -1))
    return np.where(squares > 0, trace**2 / np.where(squares > 0, squares, 1.0), 1.0)
