"""Images that stand for a split: chosen by their order, so that nobody picks the good ones."""

import torch
from jaxtyping import Int, Integer
from torch import Tensor


def first_of_each_class(
    labels: Integer[Tensor, " images"], predicted: Int[Tensor, " images"], number: int, classes: int
) -> list[list[int | None]]:
    """Return for each class the indices of its first images, and of the first one that is wrong.

    Args:
        labels: The true classes.
        predicted: The classes that are believed in most.
        number: How many to take of each class.
        classes: How many classes there are.

    Returns:
        A row a class: `number` indices in the split's order, then that of the first image
        after them that is classified wrongly; None for each that is not there.
    """
    rows: list[list[int | None]] = []
    for label in range(classes):
        own = torch.nonzero(labels == label).flatten().tolist()
        wrong = [index for index in own[number:] if predicted[index] != label]
        chosen: list[int | None] = [*own[:number], *[None] * (number - len(own))]
        rows.append([*chosen, wrong[0] if wrong else None])
    return rows
