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

from capsmodel.data.archived import ArchivedImages, FilePart, PixelsAndClasses

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

    def read(self, part: FilePart) -> PixelsAndClasses:
        """Return grey values and classes of a part."""
        names = [file.name for file in self.archives.files]
        images, labels = names[:2] if part == "train" else names[2:]
        pixels = _values(self.archives.path(images), num_axes=3)
        return pixels.reshape(-1, *self.image_shape), _values(
            self.archives.path(labels), num_axes=1
        )

    def _tensor(
        self, pixels: UInt8[np.ndarray, "images channels height width"]
    ) -> Float[Tensor, "images channels height width"]:
        """Return numbers in [0, 1], as the first data sets of this library have them."""
        # Divided on the CPU, as a GPU would multiply by a rounded 1 / 255.
        return torch.from_numpy(pixels).float().div_(_WHITE)


@cache
def _values(path: Path, num_axes: int) -> UInt8[np.ndarray, " values"]:
    """Return the bytes of a file after its header: a magic number, and the size of each axis."""
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=4 * (1 + num_axes))
