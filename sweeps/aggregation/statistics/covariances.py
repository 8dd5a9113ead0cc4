"""How the means of several arms, or of several contrasts, would move together."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sweeps.aggregation.statistics.two_way import members_of


@dataclass(frozen=True)
class MeanCovariances:
    """Covariances of means over seeds and images: `TwoWay` has what stands on their diagonals.

    Attributes:
        over_seeds: What new seeds add, the residual's share in it.
        over_images: What new images, or new objects, add, the residual's share in it.
        residual: What both count, once.
    """

    over_seeds: Float[np.ndarray, "... rows rows"]
    over_images: Float[np.ndarray, "... rows rows"]
    residual: Float[np.ndarray, "... rows rows"]

    @property
    def both(self) -> Float[np.ndarray, "... rows rows"]:
        """Of both directions, unbiased."""
        return self.over_seeds + self.over_images - self.residual


def over_seeds(values: Float[np.ndarray, "... rows seeds"]) -> Float[np.ndarray, "... rows rows"]:
    """Return the covariance of means over seeds alone, nothing where there is one seed."""
    num_seeds = values.shape[-1]
    centred = values - values.mean(axis=-1, keepdims=True)
    return _products(centred) / (num_seeds * max(num_seeds - 1, 1))


def mean_covariances(
    values: Float[np.ndarray, "... rows seeds images"],
    objects: Int[np.ndarray, " images"] | None = None,
) -> MeanCovariances:
    """Return how means over seeds and images would move together.

    Source: as of `two_way`.

    Args:
        values: Values of each arm or contrast.
        objects: Which object each image shows; None where each image is its own.
    """
    *_, num_seeds, num_images = values.shape
    centred = values - values.mean(axis=(-2, -1), keepdims=True)
    by_seed, by_image = centred.mean(axis=-1), centred.mean(axis=-2)
    rest = centred - by_seed[..., None] - by_image[..., None, :]
    if objects is not None:
        members = members_of(objects)
        by_image, rest = by_image @ members, rest @ members
    num_clusters = by_image.shape[-1]
    of_clusters = num_clusters / (num_clusters - 1)
    of_rest = of_clusters * num_seeds / (num_seeds - 1) / (num_seeds * num_images) ** 2
    flat = rest.reshape(*rest.shape[:-2], num_seeds * num_clusters)
    return MeanCovariances(
        over_seeds=over_seeds(by_seed),
        over_images=_products(by_image) * of_clusters / num_images**2,
        residual=_products(flat) * of_rest,
    )


def _products(values: Float[np.ndarray, "... rows n"]) -> Float[np.ndarray, "... rows rows"]:
    return values @ np.swapaxes(values, -1, -2)
