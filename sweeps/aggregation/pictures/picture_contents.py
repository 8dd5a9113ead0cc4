"""What pictures show of a trained network, as arrays.

With `models` the one place of this package that needs capsmodel and torch.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sweeps.records.errors import BadInput

if TYPE_CHECKING:
    from capsmodel.data import Images
    from capsmodel.training.trained import Trained

Array = np.ndarray

OFFSETS = tuple(round(0.05 * step, 2) for step in range(-5, 6))
"""What is added to a number of a pose: those of the first capsule network's figure 4."""

_MOST_CLASSES = 10
_MOST_IMAGES = 2000  # that are searched for one classified wrongly
_FIRST = 3
_PERTURBED = 2
_ROUTED = 3


@dataclass(frozen=True)
class Example:
    """An image and what the network makes of it, channels first."""

    image: Array
    reconstruction: Array
    label: int
    predicted: int


@dataclass(frozen=True)
class Examples:
    """Images of each class: the first ones, then the next one that is classified wrongly.

    Attributes:
        by_class: None where there is none.
        num_images: Validation images that were looked through.
    """

    by_class: tuple[tuple[Example | None, ...], ...]
    num_images: int

    @property
    def has_wrong(self) -> bool:
        """Whether any image after the first ones is classified wrongly."""
        return any(own[-1] for own in self.by_class)


@dataclass(frozen=True)
class Perturbed:
    """An image's pose, each number of which is moved by each of `OFFSETS`.

    Attributes:
        label: The class whose pose it is: the true one.
        drawn: By number, then offset.
    """

    label: int
    image: Array
    drawn: Array


@dataclass(frozen=True)
class RoutedImage:
    """Which share of each child goes to the class that is believed in most.

    Attributes:
        shares: By type, row and column of the child.
    """

    label: int
    predicted: int
    image: Array
    shares: Array


@dataclass(frozen=True)
class Couplings:
    """How the children of the class capsules were shared out.

    Attributes:
        images: A few.
        to_winner: Of many images: the shares of all children that go to the winner.
        to_others: Those that go to the other classes.
        num_images: How many these are.
        num_classes: Whose inverse is the share of each where all are alike.
    """

    images: tuple[RoutedImage, ...]
    to_winner: Array
    to_others: Array
    num_images: int
    num_classes: int


@dataclass(frozen=True)
class Pictured:
    """What pictures show of a trained network; None where the network has it not."""

    examples: Examples | None
    perturbed: tuple[Perturbed, ...] | None
    couplings: Couplings | None


def pictured(trained: "Trained") -> Pictured:
    """Return what pictures show: of validation images, chosen by their order alone.

    Raises:
        BadInput: If the data cannot be loaded.
    """
    try:
        validation = trained.config.data.load("cpu").validation
    except (ValueError, OSError) as error:
        raise BadInput(f"The images of this trial cannot be loaded: {error}") from error
    some = validation.take(slice(_MOST_IMAGES))
    rows = _chosen(trained, some)
    first = [row[0] for row in rows if row[0] is not None]
    return Pictured(
        examples=_examples(trained, some, rows),
        perturbed=_perturbed(trained, some, first),
        couplings=_couplings(trained, some, first),
    )


def _chosen(trained: "Trained", some: "Images") -> list[list[int | None]]:
    from capsmodel.evaluation import first_of_each_class  # here, as torch comes with it

    predicted = trained.predict(some.images).classes.cpu()
    num_classes = min(_MOST_CLASSES, trained.config.data.num_classes)
    return first_of_each_class(some.labels, predicted, _FIRST, num_classes)


def _examples(trained: "Trained", some: "Images", rows: list[list[int | None]]) -> Examples | None:
    indices = [index for row in rows for index in row if index is not None]
    seen = trained.inspect(some.images[indices])
    if seen.outputs.reconstructions is None:
        return None
    predicted = seen.outputs.lengths.argmax(dim=1).tolist()
    images, drawn = seen.images.cpu().numpy(), seen.outputs.reconstructions.cpu().numpy()
    found = {
        index: Example(images[place], drawn[place], int(some.labels[index]), predicted[place])
        for place, index in enumerate(indices)
    }
    by_class = tuple(tuple(None if i is None else found[i] for i in row) for row in rows)
    return Examples(by_class, len(some))


def _perturbed(
    trained: "Trained", some: "Images", first: list[int]
) -> tuple[Perturbed, ...] | None:
    chosen = _spread(first, _PERTURBED)
    labels = some.labels[chosen]
    drawn = trained.perturb(some.images[chosen], labels, OFFSETS)
    if drawn is None:
        return None
    images = trained.inspect(some.images[chosen]).images
    return tuple(
        Perturbed(int(label), image.cpu().numpy(), own.cpu().numpy())
        for label, image, own in zip(labels, images, drawn, strict=True)
    )


def _couplings(trained: "Trained", some: "Images", first: list[int]) -> Couplings | None:
    from capsmodel.evaluation import shares_of_children  # here, as torch comes with it

    seen = trained.inspect(some.images[first])
    layer = seen.outputs.couplings.get(seen.children.layer) if seen.children else None
    if layer is None or seen.children is None:
        return None
    winners = seen.outputs.lengths.argmax(dim=1)
    shares = shares_of_children(layer, seen.children, winners).cpu().numpy()
    values = layer.values.cpu().numpy()
    is_winner = np.arange(values.shape[2]) == winners.cpu().numpy()[:, None]
    images = seen.images.cpu().numpy()
    return Couplings(
        images=tuple(
            RoutedImage(int(some.labels[first[i]]), int(winners[i]), images[i], shares[i])
            for i in _spread(list(range(len(first))), _ROUTED)
        ),
        to_winner=values[:, is_winner].ravel(),
        to_others=values[:, ~is_winner].ravel(),
        num_images=len(first),
        num_classes=values.shape[2],
    )


def _spread(values: list[int], number: int) -> list[int]:
    """Return a few of the values, from the first on, evenly apart."""
    step = max(1, len(values) // number)
    return values[::step][:number]
