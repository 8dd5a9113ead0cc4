"""Pixels that tell the class by themselves, as where a label was written into each image."""

import torch
from jaxtyping import Int
from torch import Tensor

from capsmodel.data.base import Images

_FEWEST = 5  # images of each class: those of a class of few are alike in some pixel by chance
_NUM_TRIED = 2000  # images that pixels are ruled out by before all are compared


def label_pixels(train: Images, num_classes: int) -> Int[Tensor, "pixels place"]:
    """Return the channel, row and column of pixels that are a one-to-one function of the class.

    Such a pixel has a single value in all images of a class, and another one in each class.

    Args:
        train: Training images of one class each.
        num_classes: Each has an image.
    """
    shape, number = train.images.shape[1:], len(train)
    counts = torch.bincount(train.labels.cpu(), minlength=num_classes)
    if int(counts.min()) < _FEWEST:
        return torch.empty(0, len(shape), dtype=torch.int64)
    tried = torch.linspace(0, number - 1, min(number, _NUM_TRIED)).long()
    pixels = _telling(train.images[tried].flatten(1), train.labels[tried])
    _, height, width = shape
    places = torch.stack(  # torch.unravel_index imports a library of 33 MB
        [pixels // (height * width), pixels // width % height, pixels % width], dim=1
    )
    if not len(places):
        return places
    values = torch.stack([train.images[:, c, y, x] for c, y, x in places.tolist()], dim=1)
    return places[_telling(values, train.labels)]


def _telling(values: Tensor, labels: Tensor) -> Int[Tensor, " telling"]:
    """Return which columns have a single value in each class, and another in each."""
    columns = torch.arange(values.shape[1], device=values.device)
    of_classes: list[Tensor] = []
    for label in labels.unique():
        of_class = values[labels == label][:, columns]
        is_single = of_class.amin(dim=0) == of_class.amax(dim=0)
        columns = columns[is_single]
        of_classes = [of_other[is_single] for of_other in (*of_classes, of_class[0])]
    ascending = torch.stack(of_classes).sort(dim=0).values
    return columns[(ascending[1:] != ascending[:-1]).all(dim=0)]
