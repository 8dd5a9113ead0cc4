"""Labels of a split that look permuted: shifted by one, or swapped for two classes."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from sweeps.aggregation.results.predictions import SplitPredictions


@dataclass(frozen=True)
class PermutedClasses:
    """A circle of classes, of each of which the network takes most images for the next.

    Attributes:
        taken_for: A label -> the class that most of its images are taken for.
        num_images: Number of images of these labels.
        num_taken: Number of them that are taken so.
        num_own: Number of them that are taken for the class of their label.
        num_independent: What `num_images` comes to where images of one object count together.
        num_classes: All that the split has.
    """

    taken_for: Mapping[int, int]
    num_images: int
    num_taken: int
    num_own: int
    num_independent: float
    num_classes: int

    @property
    def log_p(self) -> float:
        """The logarithm of a p value: whether images are taken for the next class by chance.

        It is of the sign test of `num_taken` against `num_own`, by Chernoff's bound, and holds for
        all circles of as many classes together.
        """
        decided = self.num_taken + self.num_own
        shares = (self.num_taken / decided, self.num_own / decided)
        distance = math.log(2) + sum(share * math.log(share) for share in shares if share)
        independent = decided * self.num_independent / self.num_images
        length = len(self.taken_for)
        num_circles = math.perm(self.num_classes, length) // length
        return math.log(num_circles) - independent * distance


def permuted_classes(split: SplitPredictions) -> Iterator[PermutedClasses]:
    """Yield the circles of classes whose labels look permuted in a split, whatever their p values.

    A network that takes all images for one class, or guesses, has no such circle but by chance.

    Args:
        split: Of a task of one class an image; of another there are none.
    """
    if split.labels.ndim != 1:
        return
    labels, classes = split.labels.astype(np.int64), split.classes.astype(np.int64)
    num = int(max(labels.max(), classes.max())) + 1
    counts = np.bincount(labels * num + classes, minlength=num**2).reshape(num, num)
    if (counts.max(axis=1) == counts.diagonal()).all():
        return  # no permutation agrees with more images than the labels do
    from scipy.optimize import linear_sum_assignment

    _, best = linear_sum_assignment(counts, maximize=True)
    for circle in _circles(best):
        taken, own, images = counts[circle, best[circle]], counts[circle, circle], counts[circle]
        of_label = images.sum(axis=1)
        exists = of_label > 0
        if (taken > own)[exists].all() and (taken[exists] / of_label[exists]).mean() > 1 / 2:
            num_images = int(of_label.sum())
            yield PermutedClasses(
                taken_for=dict(zip(circle, best[circle].tolist(), strict=True)),
                num_images=num_images,
                num_taken=int(taken.sum()),
                num_own=int(own.sum()),
                num_independent=num_images * split.num_clusters / len(labels),
                num_classes=num,
            )


def _circles(permutation: Int[np.ndarray, " classes"]) -> Iterator[list[int]]:
    """Yield the circles of two and more numbers that a permutation consists of."""
    remaining = {number for number, other in enumerate(permutation) if number != other}
    while remaining:
        circle = [min(remaining)]
        while (following := int(permutation[circle[-1]])) != circle[0]:
            circle.append(following)
        remaining -= {*circle}
        yield circle
