"""The classes that a trained network gives to a split, batch by batch."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor

from capsmodel.data import Images
from capsmodel.training.trained import EVALUATION_BATCH_SIZE, Trained

Change = Callable[[Tensor], Tensor]


def as_they_are(images: Tensor) -> Tensor:
    """Return images without a change."""
    return images


def beliefs_in(
    trained: Trained, split: Images, change: Change = as_they_are
) -> Float[Tensor, "images classes"]:
    """Return the network's belief in each class, in [0, 1], of each image of a split.

    Args:
        trained: The network.
        split: The images, on the network's device.
        change: What becomes of a batch of them before the network is given it.
    """
    starts = range(0, len(split), EVALUATION_BATCH_SIZE)
    batches = (split.take(slice(start, start + EVALUATION_BATCH_SIZE)) for start in starts)
    return torch.cat([trained.predict(change(batch.images)).lengths for batch in batches])


def share_wrong(classes: Int[Tensor, " images"], labels: Integer[Tensor, " images"]) -> float:
    """Return the share of images whose class is not that of their label."""
    return int((classes != labels).sum()) / len(labels)
