"""Figures of the capsules of a layer and of their shares, added up over batches of images."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from capsmodel.evaluation.routers import totals
from capsmodel.functional.neighbourhood import Neighbourhood
from capsmodel.routing import Couplings

DEAD = (0.001, 0.01, 0.1)
"""Lengths under which a capsule may count as dead."""

_ACTIVE = 0.1
_HALF = 0.5
_SMALLEST = 1e-12


class Moved(NamedTuple):
    """The capsules of a layer for a batch of images that are all moved alike.

    Attributes:
        activations: Belief in each child, or its length, seen from each place of the parents.
        couplings: How the children are shared out.
    """

    activations: Float[Tensor, "edges sites"]
    couplings: Couplings


class LayerActivity:
    """Figures of a layer's capsules, as children of the layer above, over all images added so far.

    A child that several places of the parents see counts once.

    Attributes:
        num_images: Number of the images.
    """

    def __init__(self) -> None:
        """Begin without images."""
        self.num_images = 0
        self._largest: Tensor | None = None  # of each child
        self._shares = _Spread()  # over the images in which the child is active
        self._lengths = _Spread()  # over images, at each shift
        self._within = 0.0  # variance over shifts, summed over images
        self._by_image: list[Mapping[str, Tensor]] = []
        self._weights = torch.zeros(())  # of the edges of each child; the same in every batch

    def add(self, moved: Sequence[Moved]) -> None:
        """Add a batch of images, first as they are, then at each shift."""
        around = moved[0].couplings.neighbourhood
        places = around.num_places
        lengths = torch.stack([shifted.activations.double().cpu() for shifted in moved])
        lengths = lengths.unflatten(2, (-1, places))  # [shifts edges images places]
        shares = shares_of(moved[0].couplings).cpu()
        is_active = moved[0].activations.cpu() >= _ACTIVE
        weights = _weight_of_edges(around, len(shares))
        self._by_image.append(_of_each_image(shares, is_active, around, weights))
        largest = lengths[0].amax(dim=1)
        before = self._largest
        self._largest = largest if before is None else torch.maximum(before, largest)
        self._weights = weights
        self._within += _mean(lengths.var(dim=0, correction=0).sum(dim=1), weights)
        self._lengths.add(lengths.permute(2, 0, 1, 3))
        by_image = shares.unflatten(1, (-1, places)).transpose(0, 1)
        self._shares.add(by_image, is_active.unflatten(1, (-1, places)).transpose(0, 1))
        self.num_images += lengths.shape[2]

    def by_image(self) -> dict[str, Float[Tensor, " images"]]:
        """Return `active`, `single_parent` and `polarisation` of each image, in [0, 1]."""
        names = ("active", "single_parent", "polarisation")
        return {name: torch.cat([batch[name] for batch in self._by_image]) for name in names}

    def is_dead(self, threshold: float) -> Bool[Tensor, "edges places"]:
        """Return whether each child is shorter in every image."""
        assert self._largest is not None
        return self._largest < threshold

    def share_dead(self, threshold: float) -> float:
        """Return the share of children that are shorter in every image."""
        return min(1.0, _mean(self.is_dead(threshold).double(), self._weights))

    @property
    def has_dynamics(self) -> bool:
        """Whether a child is active in two images or more."""
        return bool((self._shares.number >= 2).any())

    def dynamics(self) -> float:
        """Return the deviation of shares over images, mean over pairs of child and parent.

        Children that are active in fewer than two images do not count; if all are, it is 0.
        """
        deviations = self._shares.variance().sqrt()[self._shares.number >= 2]
        return deviations.mean().item() if self.has_dynamics else 0.0

    def length_spread(self) -> float:
        """Return the deviation of lengths over shifts, over their deviation over images."""
        between = _mean(self._lengths.variance().mean(dim=0), self._weights)
        within = self._within / self.num_images
        return (within**0.5) / max(between**0.5, _SMALLEST)


class _Spread:
    """Variances over images of many numbers, each over the images in which it counts.

    Sums are of the distance from the first image, so that what never changes has exactly none.
    """

    def __init__(self) -> None:
        self.number = torch.zeros(())
        self._first: Tensor | None = None
        self._sum = self._squares = torch.zeros((), dtype=torch.float64)

    def add(self, values: Tensor, counts: Tensor | None = None) -> None:
        """Add numbers by image; `counts` says of which, without their last axis."""
        if self._first is None:
            self._first = values[0].double()
        if counts is None:
            counts = torch.ones(values.shape[:-1], dtype=torch.bool)
        distances = (values.double() - self._first) * counts.unsqueeze(-1)
        self._sum = self._sum + distances.sum(dim=0)
        self._squares = self._squares + distances.square().sum(dim=0)
        self.number = self.number + counts.sum(dim=0)

    def variance(self) -> Tensor:
        """Return the variance of each number, or 0 if it counts in no image."""
        number = self.number.clamp(min=1).unsqueeze(-1)
        return (self._squares / number - (self._sum / number).square()).clamp(min=0)


def shares_of(couplings: Couplings) -> Float[Tensor, "edges sites out_caps"]:
    """Return couplings scaled to add up to 1 over all parents of a child.

    A child that gives nothing away, as far as its numbers go, shares itself equally.
    """
    values, around = couplings
    total = totals(values, around)
    return torch.where(total > 0, values / total, 1 / _num_parents(values, around).unsqueeze(2))


def _num_parents(shares: Tensor, around: Neighbourhood) -> Float[Tensor, "edges sites"]:
    edges, sites, out_caps = shares.shape
    return around.sum_over_parents(shares.new_full((edges, sites), out_caps))


def _of_each_image(
    shares: Float[Tensor, "edges sites out_caps"],
    is_active: Bool[Tensor, "edges sites"],
    around: Neighbourhood,
    weights: Float[Tensor, "edges places"],
) -> dict[str, Float[Tensor, " images"]]:
    """Return the share of active children and the means over them, or 0 if none is active."""
    has_main = around.sum_over_parents((shares >= _HALF).sum(dim=2).float()) > 0
    entropy = around.sum_over_parents(torch.special.entr(shares).sum(dim=2))
    polarisation = 1 - entropy / _num_parents(shares, around).log().clamp(min=_SMALLEST)

    def summed(values: Tensor) -> Tensor:
        by_image = values.double().unflatten(1, (-1, weights.shape[1]))
        return (by_image * weights.unsqueeze(1)).sum(dim=(0, 2))

    active = summed(is_active)
    among = active.clamp(min=_SMALLEST)
    return {
        "active": (active / weights.sum()).clamp(0, 1),
        "single_parent": (summed(has_main & is_active) / among).clamp(0, 1),
        "polarisation": (summed(polarisation * is_active) / among).clamp(0, 1),
    }


def _weight_of_edges(around: Neighbourhood, edges: int) -> Float[Tensor, "edges places"]:
    """Return weights that add up to 1 over the edges of each child."""
    return 1 / around.num_parent_places(edges, around.num_places).double()


def _mean(values: Tensor, weights: Tensor) -> float:
    """Return the mean over children of values at their edges."""
    return ((values * weights).sum() / weights.sum()).item()
