"""Data sets whose published files have a training part and a test part."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import UInt8

from capsmodel.data.archive import Archives
from capsmodel.data.base import DataSet, DataSplits, Images, SplitIndices
from capsmodel.data.download import ensure

FilePart = Literal["train", "validation", "test"]
PixelsAndClasses = tuple[
    UInt8[np.ndarray, "images channels height width"], UInt8[np.ndarray, " images"]
]


class ArchivedImages(DataSet, ABC):
    """Images of published files: the test part is the test split, the other one is split in two.

    Attributes:
        archives: The published files.
        validation_part: The part that the validation images are from.
    """

    archives: ClassVar[Archives]
    validation_part: ClassVar[FilePart] = "train"

    @classmethod
    @abstractmethod
    def mirrors(cls) -> Sequence[str]:
        """Return the addresses that a file's name is appended to, the first to be tried first."""

    @abstractmethod
    def read(self, part: FilePart) -> PixelsAndClasses:
        """Return grey values and classes of a part; its files exist and have their checksums."""

    def stored(self, part: FilePart) -> PixelsAndClasses:
        """Return grey values and classes of a part.

        Raises:
            ValueError: If a file is damaged, or neither exists nor can be downloaded.
        """
        ensure(self.archives, self.mirrors)
        return self.read(part)

    def prepare(self) -> None:
        """Download the files if they are missing, and check that no class is empty.

        Raises:
            ValueError: If a file is damaged, or neither exists nor can be downloaded, or the
                fraction is too small.
        """
        self._indices()

    def downloads(self) -> dict[str, int | None]:
        """Return the missing files: name -> bytes, None where the publisher does not give them.

        Raises:
            ValueError: If an existing file cannot be read.
        """
        return {file.name: file.num_bytes for file in self.archives.lacking()}

    def load(self, device: str | torch.device) -> DataSplits:
        """Return the splits as tensors on a device; the files are read once per process.

        Raises:
            ValueError: If a file is damaged, or neither exists nor can be downloaded, or the
                fraction is too small.
        """
        indices = self._indices()
        return DataSplits(
            train=self._images("train", indices.train, device),
            validation=self._images(self.validation_part, indices.validation, device),
            test=self._images("test", indices.test, device),
        )

    def _tensor(self, pixels: UInt8[np.ndarray, "images channels height width"]) -> torch.Tensor:
        """Return selected images as they lie in memory, by default as grey values of a byte."""
        return torch.from_numpy(pixels)

    def _indices(self) -> SplitIndices:
        return self.split(*(self.stored(part)[1].tolist() for part in ("train", "test")))

    def _images(self, part: FilePart, indices: list[int], device: str | torch.device) -> Images:
        pixels, labels = self.stored(part)
        images = self._tensor(pixels[indices])
        return Images(images.to(device), torch.from_numpy(labels[indices]).long().to(device))
