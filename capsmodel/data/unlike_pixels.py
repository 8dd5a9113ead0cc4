"""Notes on splits whose pixels are unlike those of training: scaled twice, inverted, on grey."""

from collections.abc import Iterator, Mapping

import torch
from jaxtyping import Float64
from torch import Tensor

from capsmodel.data.base import WHITE, Images

_FIGURES = ("mean", "share of black", "smallest", "largest")
_FEWEST = 20
_CLEAR = 0.5  # in standard deviations of training's images
_SURE = 5.0  # in standard errors
_SMALLEST = 0.05  # of the range of training's pixels, and as a share of black
_AT_ONCE = 1024


def unlike_pixels(splits: Mapping[str, Images], train: Images) -> Iterator[str]:
    """Yield a sentence for each split with the figures in which it differs from training.

    Mean, share of black, smallest and largest pixel are computed for each image. A split is named
    where their mean over its images is far from training's: many standard errors, and much of the
    spread from image to image. Fewer than 20 images, and images that are made when they are taken,
    are passed over.

    Args:
        splits: What a split is called -> its images.
        train: Those of training.
    """
    stored = {name: images for name, images in splits.items() if _has_enough(images)}
    if not stored or not _has_enough(train):
        return
    of_training = _figures(train.images)
    for place, images in stored.items():
        if texts := _differences(_figures(images.images), of_training):
            yield (
                f"The pixels of {place} are unlike those of training, as numbers from 0 to 1 and "
                f"in the mean over images: {', '.join(texts)}: check how both are scaled."
            )


def _has_enough(images: Images) -> bool:
    return type(images) is Images and len(images) >= _FEWEST


def _differences(
    ours: Float64[Tensor, "images figures"], theirs: Float64[Tensor, "others figures"]
) -> list[str]:
    means, usual, deviations = ours.mean(dim=0), theirs.mean(dim=0), theirs.std(dim=0)
    extent = float(usual[3] - usual[2])
    smallest = torch.tensor([extent, 1.0, extent, extent]) * _SMALLEST
    errors = deviations * (1 / len(ours) + 1 / len(theirs)) ** 0.5
    least = torch.stack([smallest, _CLEAR * deviations, _SURE * errors]).amax(dim=0)
    return [
        f"{name} {mean:.3g} against {other:.3g}"
        for name, mean, other, is_unlike in zip(
            _FIGURES,
            means.tolist(),
            usual.tolist(),
            ((means - usual).abs() > least).tolist(),
            strict=True,
        )
        if is_unlike
    ]


def _figures(images: Tensor) -> Float64[Tensor, "images figures"]:
    """Return the figures of each image; a few images at once become numbers from 0 to 1."""
    white = WHITE if images.dtype == torch.uint8 else 1.0
    parts = list[Tensor]()
    for some in images.flatten(start_dim=1).split(_AT_ONCE):
        black = 1 - some.count_nonzero(dim=1) / some.shape[1]
        values = (some.float().mean(dim=1), some.amin(dim=1), some.amax(dim=1))
        mean, smallest, largest = (value / white for value in values)
        parts.append(torch.stack((mean, black, smallest, largest), dim=1))
    return torch.cat(parts).double().cpu()
