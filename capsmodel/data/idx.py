"""Data sets of small grey images in the four compressed files that MNIST was published in."""

import gzip
from abc import ABC
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import UInt8

from capsmodel.data.archive import Archives
from capsmodel.data.base import DataSet, DataSplits, Images, SplitIndices
from capsmodel.data.download import ensure

_IMAGES_HEADER_BYTES = 16
_LABELS_HEADER_BYTES = 8
_WHITE = 255


class IdxImages(DataSet, ABC):
    """60,000 training and 10,000 test images of 28 by 28 pixels in ten classes.

    Attributes:
        archives: The four files: training images and labels, test images and labels.
    """

    image_shape: ClassVar[tuple[int, int, int]] = (1, 28, 28)
    num_classes: ClassVar[int] = 10
    archives: ClassVar[Archives]

    def prepare(self) -> None:
        """Download the files if they are missing, and check that no class is empty.

        Raises:
            ValueError: If a file neither exists nor can be downloaded, or the fraction is too
                small.
        """
        ensure(self.archives, self.mirrors)
        self._indices()

    def load(self, device: str | torch.device) -> DataSplits:
        """Return the splits as tensors on a device; the files are read once per process.

        Raises:
            ValueError: If a file neither exists nor can be downloaded, or the fraction is too
                small.
        """
        pool, test = self.stored("train"), self.stored("test")
        indices = self._indices()
        return DataSplits(
            train=_images(*pool, indices.train, device),
            validation=_images(*pool, indices.validation, device),
            test=_images(*test, indices.test, device),
        )

    def stored(
        self, images: Literal["train", "test"]
    ) -> tuple[UInt8[np.ndarray, "images channels height width"], UInt8[np.ndarray, " images"]]:
        """Return all training or test images, those of validation included, and their classes.

        Raises:
            ValueError: If a file neither exists nor can be downloaded.
        """
        ensure(self.archives, self.mirrors)
        train_images, train_labels, test_images, test_labels = self._paths()
        pixels, labels = (
            (train_images, train_labels) if images == "train" else (test_images, test_labels)
        )
        return _pixels(pixels, self.image_shape), _labels(labels)

    @classmethod
    def mirrors(cls) -> Sequence[str]:
        """Return the addresses that torchvision would download from."""
        import torchvision.datasets  # a second to import, and only a download needs it

        return getattr(torchvision.datasets, cls.archives.title).mirrors

    def _paths(self) -> list[Path]:
        return [self.archives.folder / file.name for file in self.archives.files]

    def _indices(self) -> SplitIndices:
        _, train_labels, _, test_labels = self._paths()
        return self.split(_labels(train_labels).tolist(), _labels(test_labels).tolist())


@cache
def _pixels(
    path: Path, image_shape: tuple[int, int, int]
) -> UInt8[np.ndarray, "images channels height width"]:
    content = gzip.decompress(path.read_bytes())
    return np.frombuffer(content, np.uint8, offset=_IMAGES_HEADER_BYTES).reshape(-1, *image_shape)


@cache
def _labels(path: Path) -> UInt8[np.ndarray, " images"]:
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=_LABELS_HEADER_BYTES)


def _images(
    pixels: UInt8[np.ndarray, "images channels height width"],
    labels: UInt8[np.ndarray, " images"],
    indices: Sequence[int],
    device: str | torch.device,
) -> Images:
    # Divided on the CPU, as a GPU would multiply by a rounded 1 / 255.
    images = torch.from_numpy(pixels[indices]).float().div_(_WHITE)
    return Images(images.to(device), torch.from_numpy(labels[indices]).long().to(device))
