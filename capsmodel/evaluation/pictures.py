"""Pictures of a network: images it draws, poses that are moved, children shared out."""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor

from capsmodel.data import DataSplits, Images
from capsmodel.evaluation.base import EvaluatedSplit, Evaluation, Findings, encoded_names
from capsmodel.models import ChildGrid
from capsmodel.routing import Couplings
from capsmodel.training.trained import Trained

OFFSETS = tuple(round(0.05 * step, 2) for step in range(-5, 6))
"""What is added to a number of a pose: those of the first capsule network's figure 4."""


_MOST_CLASSES = 10
_MOST_IMAGES = 2000  # that are searched for one classified wrongly
_FIRST = 3
_PERTURBED = 2
_ROUTED = 3
Arrays = dict[str, Tensor]


class Pictures(Evaluation):
    """Arrays for pictures: reconstructions, poses that are moved, and couplings.

    All show validation images, selected by their order alone: the first ones of each class, then
    the next one that is classified wrongly. The names of the arrays begin with what they show:

    - `examples_`: `images`, `drawn` (what the decoder draws of them), `labels`, `predicted`,
      `places` (by class, the example at each place, -1 for none), `num_images` looked through;
    - `perturbed_`: `images`, `labels`, `drawn` (by image, number of the pose and offset),
      `offsets`;
    - `couplings_`: `images`, `labels`, `predicted`, `shares` (of each child that go to the class
      believed in most, by image, type, row and column), `to_winner` and `to_others` (the shares of
      all children of `num_images` images), `num_classes`.

    `class_names` has what classes are called, as bytes with line breaks, where the data say so.
    """

    kind: Literal["pictures"] = "pictures"

    @property
    def looks_at(self) -> EvaluatedSplit:
        """Validation: a choice may be made by looking at pictures."""
        return "validation"

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        """Return the arrays that the network provides, and why the others are left out."""
        some = data.validation.take(slice(_MOST_IMAGES))
        rows = _chosen(trained, some)
        first = [row[0] for row in rows if row[0] is not None]
        by_kind = {
            "reconstructions, as the network has no decoder": _examples(trained, some, rows),
            "moved poses, as the network draws nothing from poses": _perturbed(
                trained, some, first
            ),
            "shares of children, as the network has no couplings": _couplings(trained, some, first),
        }
        arrays = {
            name: values
            for values_of_kind in by_kind.values()
            for name, values in values_of_kind.items()
        }
        names = encoded_names(trained.config.data) if arrays else {}
        return Findings(
            arrays={name: values.cpu() for name, values in arrays.items()} | names,
            left_out=tuple(
                f"There are no {kind}."
                for kind, values_of_kind in by_kind.items()
                if not values_of_kind
            ),
        )


def shares_of_children(
    couplings: Couplings, children: ChildGrid, classes: Int[Tensor, " batch"]
) -> Float[Tensor, "batch types rows columns"]:
    """Return the share of each child that goes to a class, by the child's type and place.

    Args:
        couplings: Couplings of the layer of the class capsules, which has one place.
        children: Where its children lie.
        classes: The class that is asked for, of each image.
    """
    shares = couplings.values[:, range(len(classes)), classes].t()
    if children.is_by_type:
        return shares.unflatten(1, (children.types, children.rows, children.columns))
    by_place = shares.unflatten(1, (children.rows, children.columns, children.types))
    return by_place.permute(0, 3, 1, 2)


def first_of_each_class(
    labels: Integer[Tensor, " images"], predicted: Int[Tensor, " images"], number: int, classes: int
) -> list[list[int | None]]:
    """Return for each class the indices of its first images, and of the first one that is wrong.

    Args:
        labels: The true classes.
        predicted: The classes that are believed in most.
        number: Number of images of each class.
        classes: Number of classes.

    Returns:
        One row per class: `number` indices in the split's order, then that of the first image
        after them that is classified wrongly; None for each that does not exist.
    """
    rows: list[list[int | None]] = []
    for label in range(classes):
        indices = torch.nonzero(labels == label).flatten().tolist()
        wrong = [index for index in indices[number:] if predicted[index] != label]
        chosen: list[int | None] = [*indices[:number], *[None] * (number - len(indices))]
        rows.append([*chosen, wrong[0] if wrong else None])
    return rows


def _chosen(trained: Trained, some: Images) -> list[list[int | None]]:
    predicted = trained.predict(some.images).classes
    num_classes = min(_MOST_CLASSES, trained.config.data.num_classes)
    return first_of_each_class(some.labels, predicted, _FIRST, num_classes)


def _examples(trained: Trained, some: Images, rows: Sequence[Sequence[int | None]]) -> Arrays:
    chosen = [index for row in rows for index in row if index is not None]
    seen = trained.inspect(some.images[chosen])
    if seen.outputs.reconstructions is None:
        return {}
    place_of = {index: place for place, index in enumerate(chosen)}
    places = [[-1 if index is None else place_of[index] for index in row] for row in rows]
    return {
        "examples_images": seen.images,
        "examples_drawn": seen.outputs.reconstructions,
        "examples_labels": some.labels[chosen],
        "examples_predicted": seen.outputs.lengths.argmax(dim=1),
        "examples_places": torch.tensor(places),
        "examples_num_images": torch.tensor(len(some)),
    }


def _perturbed(trained: Trained, some: Images, first: list[int]) -> Arrays:
    chosen = _spread(first, _PERTURBED)
    images, labels = some.images[chosen], some.labels[chosen]
    drawn = trained.perturb(images, labels, OFFSETS)
    if drawn is None:
        return {}
    return {
        "perturbed_images": trained.inspect(images).images,
        "perturbed_labels": labels,
        "perturbed_drawn": drawn,
        "perturbed_offsets": torch.tensor(OFFSETS, dtype=torch.float64),
    }


def _couplings(trained: Trained, some: Images, first: list[int]) -> Arrays:
    seen = trained.inspect(some.images[first])
    layer = seen.outputs.couplings.get(seen.children.layer) if seen.children else None
    if layer is None or seen.children is None:
        return {}
    winners = seen.outputs.lengths.argmax(dim=1)
    num_classes = layer.values.shape[2]
    is_winner = torch.arange(num_classes, device=winners.device) == winners[:, None]
    routed = _spread(list(range(len(first))), _ROUTED)
    return {
        "couplings_images": seen.images[routed],
        "couplings_labels": some.labels[first][routed],
        "couplings_predicted": winners[routed],
        "couplings_shares": shares_of_children(layer, seen.children, winners)[routed],
        "couplings_to_winner": layer.values[:, is_winner].flatten(),
        "couplings_to_others": layer.values[:, ~is_winner].flatten(),
        "couplings_num_images": torch.tensor(len(first)),
        "couplings_num_classes": torch.tensor(num_classes),
    }


def _spread(values: list[int], number: int) -> list[int]:
    """Return a few evenly spaced values, starting with the first."""
    step = max(1, len(values) // number)
    return values[::step][:number]
