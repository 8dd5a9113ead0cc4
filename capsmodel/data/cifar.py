"""CIFAR-10 and CIFAR-100: small photographs in colour, in the binary form of their page."""

import tarfile
from abc import ABC
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from capsmodel.data.archive import Archive, Archives
from capsmodel.data.archived import ArchivedImages, FilePart, PixelsAndClasses

_SHAPE = (3, 32, 32)


class CifarImages(ArchivedImages, ABC):
    """60,000 colour photographs of 32 by 32 pixels: 10,000 for the test.

    A file is a row of records: one byte or two for the class, then red, green and blue values.

    Attributes:
        archives: The packed file, whose binary form needs no pickle.
        train_files: Names of the training part's files in it.
        test_files: Names of the test part's.
        label_bytes: How many bytes of a record are labels; the last of them is the class.
    """

    image_shape: ClassVar[tuple[int, int, int]] = _SHAPE
    train_files: ClassVar[tuple[str, ...]]
    test_files: ClassVar[tuple[str, ...]]
    label_bytes: ClassVar[int]

    @classmethod
    def mirrors(cls) -> Sequence[str]:
        """Return the address of the sets' own page."""
        return ["https://www.cs.toronto.edu/~kriz/"]

    def read(self, part: FilePart) -> PixelsAndClasses:
        """Return grey values and classes of a part."""
        names = self.train_files if part == "train" else self.test_files
        return _read(self.archives.path(self.archives.files[0].name), names, self.label_bytes)


class Cifar10(CifarImages):
    """60,000 colour photographs of ten kinds of things, 32 by 32 pixels: 10,000 for the test.

    Source: Krizhevsky 2009, Learning multiple layers of features from tiny images.
    Difference: a part of the 50,000 training images is held out for validation.
    """

    kind: Literal["cifar10"] = "cifar10"
    num_classes: ClassVar[int] = 10
    class_names: ClassVar[tuple[str, ...]] = (
        "airplane",
        "automobile",
        "bird",
        "cat",
        "deer",
        "dog",
        "frog",
        "horse",
        "ship",
        "truck",
    )
    num_unsplit: ClassVar[int | None] = 50_000
    archives: ClassVar[Archives] = Archives(
        "CIFAR10",
        (Archive("cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530", 170_052_171),),
    )
    train_files: ClassVar[tuple[str, ...]] = tuple(
        f"cifar-10-batches-bin/data_batch_{number}.bin" for number in range(1, 6)
    )
    test_files: ClassVar[tuple[str, ...]] = ("cifar-10-batches-bin/test_batch.bin",)
    label_bytes: ClassVar[int] = 1
    fingerprint: ClassVar[str] = archives.fingerprint


class Cifar100(CifarImages):
    """60,000 colour photographs of a hundred kinds of things: 10,000 for the test.

    The classes are the hundred fine ones.

    Source: Krizhevsky 2009, Learning multiple layers of features from tiny images.
    Difference: a part of the 50,000 training images is held out for validation.
    """

    kind: Literal["cifar100"] = "cifar100"
    num_classes: ClassVar[int] = 100
    num_unsplit: ClassVar[int | None] = 50_000
    archives: ClassVar[Archives] = Archives(
        "CIFAR100",
        (Archive("cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8", 168_513_733),),
    )
    train_files: ClassVar[tuple[str, ...]] = ("cifar-100-binary/train.bin",)
    test_files: ClassVar[tuple[str, ...]] = ("cifar-100-binary/test.bin",)
    label_bytes: ClassVar[int] = 2
    fingerprint: ClassVar[str] = archives.fingerprint


@cache
def _read(path: Path, names: Sequence[str], label_bytes: int) -> PixelsAndClasses:
    contents: dict[str, bytes] = {}
    with tarfile.open(path) as archive:  # nothing is unpacked to the disk
        for member in archive:
            if member.name in names and (file := archive.extractfile(member)) is not None:
                contents[member.name] = file.read()
    size = label_bytes + int(np.prod(_SHAPE))
    records = np.frombuffer(b"".join(contents[name] for name in names), np.uint8).reshape(-1, size)
    pixels = np.ascontiguousarray(records[:, label_bytes:]).reshape(-1, *_SHAPE)
    return pixels, records[:, label_bytes - 1].copy()
