"""What pictures show of a trained network, read from the arrays that the evaluation gives."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sweeps.aggregation.results.class_names import class_names_in

Array = np.ndarray


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
        return any(examples[-1] for examples in self.by_class)


@dataclass(frozen=True)
class Perturbed:
    """An image's pose, each number of which is moved by each of some offsets.

    Attributes:
        label: The class whose pose it is: the true one.
        drawn: By number, then offset.
        offsets: What is added; 0 is among them.
    """

    label: int
    image: Array
    drawn: Array
    offsets: tuple[float, ...]


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
class CouplingPicture:
    """How the children of the class capsules were shared out.

    Attributes:
        images: A few.
        to_winner: For many images, the shares of all children that go to the winner.
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
    """What pictures show of a trained network; None where the network has no such part.

    Attributes:
        names: What classes are called, () if by their numbers.
    """

    names: tuple[str, ...]
    examples: Examples | None
    perturbed: tuple[Perturbed, ...] | None
    couplings: CouplingPicture | None


def pictured(arrays: Mapping[str, Array]) -> Pictured:
    """Return what pictures show.

    Args:
        arrays: Arrays that the evaluation `pictures` returns; what the network does not have is
            left out.

    Raises:
        KeyError: If some of what belongs together is not there.
    """
    return Pictured(
        names=class_names_in(arrays),
        examples=_examples(arrays) if "examples_images" in arrays else None,
        perturbed=_perturbed(arrays) if "perturbed_images" in arrays else None,
        couplings=_couplings(arrays) if "couplings_images" in arrays else None,
    )


def _examples(arrays: Mapping[str, Array]) -> Examples:
    examples = [
        Example(image, drawn, int(label), int(predicted))
        for image, drawn, label, predicted in zip(
            *(arrays[f"examples_{name}"] for name in ("images", "drawn", "labels", "predicted")),
            strict=True,
        )
    ]
    by_class = tuple(
        tuple(examples[place] if place >= 0 else None for place in row.tolist())
        for row in arrays["examples_places"]
    )
    return Examples(by_class, int(arrays["examples_num_images"]))


def _perturbed(arrays: Mapping[str, Array]) -> tuple[Perturbed, ...]:
    names = ("labels", "images", "drawn")
    offsets = tuple(arrays["perturbed_offsets"].tolist())
    return tuple(
        Perturbed(int(label), image, drawn, offsets)
        for label, image, drawn in zip(
            *(arrays[f"perturbed_{name}"] for name in names), strict=True
        )
    )


def _couplings(arrays: Mapping[str, Array]) -> CouplingPicture:
    names = ("labels", "predicted", "images", "shares")
    return CouplingPicture(
        images=tuple(
            RoutedImage(int(label), int(predicted), image, shares)
            for label, predicted, image, shares in zip(
                *(arrays[f"couplings_{name}"] for name in names), strict=True
            )
        ),
        to_winner=arrays["couplings_to_winner"],
        to_others=arrays["couplings_to_others"],
        num_images=int(arrays["couplings_num_images"]),
        num_classes=int(arrays["couplings_num_classes"]),
    )
