"""Data sets of small grey images in the four compressed files that MNIST was published in."""

import gzip
from abc import ABC
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from capsmodel.data.archived import ArchivedImages, TrainOrTest

_IMAGES_HEADER_BYTES = 16
_LABELS_HEADER_BYTES = 8
_WHITE = 255


class IdxImages(ArchivedImages, ABC):
    """60,000 training and 10,000 test images of 28 by 28 pixels in ten classes.

    Attributes:
        archives: The four files: training images and labels, test images and labels.
    """

    image_shape: ClassVar[tuple[int, int, int]] = (1, 28, 28)
    num_classes: ClassVar[int] = 10

    @classmethod
    def mirrors(cls) -> Sequence[str]:
        """Return the addresses that torchvision would download from."""
        import torchvision.datasets  # a second to import, and only a download needs it

        return getattr(torchvision.datasets, cls.archives.title).mirrors

    def read(
        self, part: TrainOrTest
    ) -> tuple[UInt8[np.ndarray, "images channels height width"], UInt8[np.ndarray, " images"]]:
        """Return grey values and classes of a part."""
        names = [file.name for file in self.archives.files]
        images, labels = names[:2] if part == "train" else names[2:]
        folder = self.archives.folder
        return _pixels(folder / images, self.image_shape), _labels(folder / labels)

    def _tensor(
        self, pixels: UInt8[np.ndarray, "images channels height width"]
    ) -> Float[Tensor, "images channels height width"]:
        """Return numbers in [0, 1], as the first data sets of this library have them."""
        # Divided on the CPU, as a GPU would multiply by a rounded 1 / 255.
        return torch.from_numpy(pixels).float().div_(_WHITE)


@cache
def _pixels(
    path: Path, image_shape: tuple[int, int, int]
) -> UInt8[np.ndarray, "images channels height width"]:
    content = gzip.decompress(path.read_bytes())
    return np.frombuffer(content, np.uint8, offset=_IMAGES_HEADER_BYTES).reshape(-1, *image_shape)


@cache
def _labels(path: Path) -> UInt8[np.ndarray, " images"]:
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=_LABELS_HEADER_BYTES)
