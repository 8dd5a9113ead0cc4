"""Differences in two directions: how far a mean would move with new seeds and with new images.

An interval over seeds alone says nothing of the images: with more seeds it shrinks around whatever
these images happen to say. Here both are drawn at random, crossed: every seed sees every image.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from sweeps.aggregation.statistics.intervals import FEWEST_SPLITS, Interval

FEWEST_SEEDS = 3
_ROUNDING = 1e-12  # of the largest difference: sums of equal ones differ by less


@dataclass(frozen=True)
class SeedVariance:
    """The variance over seeds of each comparison, as the others of its table let it be estimated.

    Attributes:
        over_seeds: In place of the comparison's own.
        degrees: Its degrees of freedom.
        is_apart: Whether the arm varies so much more than the others that its own seeds have to
            bear out what is said of it.
    """

    over_seeds: Float[np.ndarray, "..."]
    degrees: Float[np.ndarray, "..."]
    is_apart: Bool[np.ndarray, "..."]


@dataclass(frozen=True)
class TwoWay:
    """Mean differences with their standard errors over seeds and images, of one or many tables.

    The three parts are parts of the mean's own variance, each already divided by its count.

    Attributes:
        mean: Mean over all seeds and images.
        over_seeds: What new seeds add, the residual's share in it; exactly 0 where all agree.
        over_images: What new images, or new objects, add, the residual's share in it.
        residual: What both count, once.
        largest: Part of `over_images` that the image makes which differs most.
        num_seeds: S; over splits so many that this less 1 are the degrees of freedom.
        num_clusters: Images, or objects where images are views of one.
        shared: What the other comparisons of the table tell of `over_seeds`; None where each
            comparison stands alone.
        square: Mean square of one difference, of a seed on an image; None where each image is its
            own.
    """

    mean: Float[np.ndarray, "..."]
    over_seeds: Float[np.ndarray, "..."]
    over_images: Float[np.ndarray, "..."]
    residual: Float[np.ndarray, "..."]
    largest: Float[np.ndarray, "..."]
    num_seeds: int
    num_clusters: int
    shared: SeedVariance | None = None
    square: Float[np.ndarray, "..."] | None = None

    @property
    def standard_error(self) -> Float[np.ndarray, "..."]:
        """Of the mean; no smaller than that over either direction alone."""
        seeds, _ = self._seeds
        larger = np.maximum(seeds, self.over_images)
        both = seeds + self.over_images - self.residual
        return np.asarray(np.sqrt(np.maximum(both, larger)))

    @property
    def degrees(self) -> Float[np.ndarray, "..."]:
        """Degrees of freedom of the two parts together, as Satterthwaite joins them (1946)."""
        (seeds, of_seeds), images = self._seeds, self.over_images
        below = seeds**2 / of_seeds + images**2 / (self.num_clusters - 1)
        has_any = below > 0
        joined = (seeds + images) ** 2 / np.where(has_any, below, 1)
        return np.where(has_any, joined, of_seeds)

    @property
    def _seeds(self) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
        """The variance over seeds that counts, with its degrees of freedom."""
        if self.shared is not None:
            return self.shared.over_seeds, self.shared.degrees
        return self.over_seeds, np.asarray(self.num_seeds - 1.0)

    @property
    def errors(self) -> "Errors":
        """Standard errors with their degrees of freedom: of both directions, of seeds, of images.

        What is said of a mean has to hold by each. Few seeds that happen to agree leave both
        directions together with a small error and with the many degrees of freedom of the images,
        which is far too sure where seeds decide; those over seeds alone are not. Where the
        comparisons of a table share their variances over seeds, those of one alone count only where
        its arm is apart.
        """
        both = (self.standard_error, np.asarray(self.degrees))
        seeds, images = (
            (np.asarray(np.sqrt(variance)), np.full_like(variance, count - 1.0))
            for variance, count in (
                (self.over_seeds, self.num_seeds),
                (self.over_images, self.num_clusters),
            )
        )
        if self.shared is not None:
            alone, of_both = seeds, both
            is_apart = self.shared.is_apart
            seeds = tuple(np.where(is_apart, *pair) for pair in zip(alone, of_both, strict=True))
        return both, (seeds[0], seeds[1]), images

    @property
    def with_rare_images(self) -> "TwoWay":
        """The same, had two more images differed as much as the one that differs most.

        Where few images differ at all, the variance comes out too small where the difference comes
        out too small as well, so that large ones are taken for small ones.

        Source: Bonett and Price 2012, Adjusted Wald confidence interval for a difference of
        binomial proportions based on paired data, who add an image of either kind.
        Difference: their variance alone, of the size seen, as means over seeds are no counts.
        """
        return replace(self, over_images=np.asarray(self.over_images + 2 * self.largest))

    def half_width(self, confidence: float = 0.95) -> Float[np.ndarray, "..."]:
        """Return half the width of the interval of each mean."""
        return half_width_by(self.errors, confidence)

    def interval(self, num_seeds: int, confidence: float = 0.95) -> Interval:
        """Return the mean with its interval; of a single table.

        Args:
            num_seeds: Trained seeds, also where splits stand in for them here.
            confidence: How often such intervals cover the true mean.
        """
        mean, half = float(self.mean), float(self.half_width(confidence))
        return Interval(num_seeds, mean, mean - half, mean + half, confidence)

    @property
    def p_value(self) -> Float[np.ndarray, "..."]:
        """Two-sided, of a mean of 0; 1 where nothing differs anywhere, or all seeds agree."""
        return np.where(self.over_seeds > 0, p_value_by(self.mean, self.errors), 1.0)


Errors = tuple[tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]], ...]
"""Standard errors of the same means, each with its degrees of freedom."""


def half_width_by(errors: Errors, confidence: float) -> Float[np.ndarray, "..."]:
    """Return half the width of intervals that hold by each of several errors."""
    from scipy.special import stdtrit  # here, and not scipy.stats, to keep imports quick

    parts = np.broadcast_arrays(*(part for pair in errors for part in pair))
    # quantiles take nearly all of the time, and most degrees of freedom occur several times
    degrees, places = np.unique(np.stack(parts[1::2]), return_inverse=True)
    quantiles = stdtrit(degrees, (1 + confidence) / 2)[places]
    widths = quantiles.reshape(-1, *parts[0].shape) * np.stack(parts[::2])
    return np.asarray(widths.max(axis=0))


def p_value_by(mean: Float[np.ndarray, "..."], errors: Errors) -> Float[np.ndarray, "..."]:
    """Return the p value, two-sided, of means of 0 that holds by each of several errors."""
    from scipy.special import stdtr

    def by_one(
        error: Float[np.ndarray, "..."], degrees: Float[np.ndarray, "..."]
    ) -> Float[np.ndarray, "..."]:
        ratio = np.divide(np.abs(mean), error, out=np.zeros_like(error), where=error > 0)
        return np.asarray(2 * stdtr(degrees, -ratio))

    return np.asarray(np.max([by_one(error, degrees) for error, degrees in errors], axis=0))


def two_way(
    differences: Float[np.ndarray, "... seeds images"],
    objects: Int[np.ndarray, " images"] | None = None,
) -> TwoWay:
    """Return mean differences and what new seeds and new images would do to them.

    The variance of the mean is `over_seeds + over_images - residual`: the first two each hold the
    residual's share, which is counted once. Where images are views of objects, sums over an object
    stand in for images, with the correction G / (G - 1) of G objects.

    Source: Cochran's two-way crossed random effects; sums over clusters as in Cameron and Miller
    2015, A practitioner's guide to cluster-robust inference.

    Args:
        differences: One for each seed and image, such as wrong of an arm minus wrong of another;
            what stands before those two axes are tables of their own.
        objects: Which object each image shows; None where each image is its own.

    Raises:
        ValueError: If there are fewer than 2 seeds or 2 images or objects.
    """
    num_seeds, num_images = differences.shape[-2:]
    mean = np.asarray(differences.mean(axis=(-2, -1)))
    by_seed = differences.mean(axis=-1)
    by_image = differences.mean(axis=-2) - mean[..., None]
    rest = differences - by_seed[..., None] - by_image[..., None, :]
    if objects is not None:
        members = members_of(objects)
        by_image, rest = by_image @ members, rest @ members
    num_clusters = by_image.shape[-1]
    if min(num_seeds, num_clusters) < 2:
        raise ValueError(
            f"Two directions need at least 2 seeds and 2 images or objects, given were "
            f"{num_seeds} and {num_clusters}."
        )
    of_clusters = num_clusters / (num_clusters - 1)
    of_rest = of_clusters * num_seeds / (num_seeds - 1) / (num_seeds * num_images) ** 2
    over_seeds = np.asarray(by_seed.var(axis=-1, ddof=1) / num_seeds)
    rounding = (_ROUNDING * np.abs(differences).max(axis=(-2, -1))) ** 2
    return TwoWay(
        mean=mean,
        over_seeds=np.where(over_seeds > rounding, over_seeds, 0.0),
        over_images=np.asarray(of_clusters * (by_image**2).sum(axis=-1) / num_images**2),
        residual=np.asarray(of_rest * (rest**2).sum(axis=(-2, -1))),
        largest=np.asarray((by_image**2).max(axis=-1) / num_images**2),
        num_seeds=num_seeds,
        num_clusters=num_clusters,
        square=None if objects is None else np.asarray((differences**2).mean(axis=(-2, -1))),
    )


def over_splits(
    differences: Float[np.ndarray, "... seeds images"],
    splits: Sequence[int],
    held_out: float,
    objects: Int[np.ndarray, " images"] | None = None,
) -> TwoWay:
    """Return the same where each seed was trained on a split of the training images of its own.

    Seeds of one split share its training images. From five splits on the mean of each is one value
    in place of a seed, and their variance is s^2 (1 / J + held_out). It speaks of other splits of
    these training images, each with seeds of its own. Of fewer splits the mean over these very ones
    is given, and seeds vary within them alone.

    Source: Nadeau and Bengio 2003, Inference for the generalization error, equation 9.
    Difference: theirs holds out the images that errors are counted on, here these are the same for
    all splits. New splits of the same images would need no such term; it covers other images where
    results of two splits correlate by the share held out, and not where by much more.

    Args:
        differences: As in `two_way`.
        splits: Split of each seed. Its differences count as much as those of any other split,
            however many seeds there are of it.
        held_out: Training images left out over those kept.
        objects: As in `two_way`.

    Raises:
        ValueError: As `two_way`, or if of fewer than five splits none has a second seed.
    """
    of_split = members_of(np.asarray(splits))
    counts = of_split.sum(axis=0)
    means = (of_split / counts).T @ differences
    num_seeds, num_splits = of_split.shape
    if num_splits >= FEWEST_SPLITS:
        way = two_way(means, objects)
        return replace(way, over_seeds=np.asarray(way.over_seeds * (1 + num_splits * held_out)))
    degrees = num_seeds - num_splits
    if not degrees:
        raise ValueError(f"{num_splits} splits with one seed each are too few to compare.")
    middle = means.mean(axis=-2, keepdims=True)
    way = two_way(differences - of_split @ means + middle, objects)
    scale = (num_seeds - 1) / degrees * num_seeds * (1 / counts).sum() / num_splits**2
    return replace(
        way,
        over_seeds=np.asarray(way.over_seeds * scale),
        residual=np.asarray(way.residual * scale),
        num_seeds=degrees + 1,
    )


def members_of(objects: Int[np.ndarray, " images"]) -> Float[np.ndarray, "images objects"]:
    """Return 1 where an image shows an object, else 0; and likewise of any groups."""
    known, places = np.unique(objects, return_inverse=True)
    return np.eye(len(known))[places]
