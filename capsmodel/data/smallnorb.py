"""Toys photographed from known viewpoints."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from io import BufferedIOBase
from math import prod
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Shaped, UInt8

from capsmodel.data.archive import Archive, Archives
from capsmodel.data.download import ensure
from capsmodel.data.viewed_objects import Objects, ViewedObjects, Views

_TRAIN = "smallnorb-5x46789x9x18x6x2x96x96-training"
_TEST = "smallnorb-5x01235x9x18x6x2x96x96-testing"
_SIDE = 96


class SmallNorb(ViewedObjects):
    """48,600 pairs of grey photographs of 50 toys, 48 by 48 pixels: 25 toys for the test.

    The six files may also be unpacked there. Unpacking takes some seconds, once a process.

    Source: LeCun, Huang and Bottou 2004, Learning methods for generic object recognition with
    invariance to pose and lighting; the file format is that of the set's own page.
    Difference: the photographs have 96 by 96 pixels; each 2 by 2 of them become their mean,
    rounded, the half upwards. The published capsule programs resize them bilinearly, which takes
    every second pixel.
    """

    kind: Literal["smallnorb"] = "smallnorb"
    archives: ClassVar[Archives] = Archives(
        "smallNORB",
        (
            Archive(
                f"{_TRAIN}-dat.mat.gz",
                "66054832f9accfe74a0f4c36a75bc0a2",
                unpacked_md5="8138a0902307b32dfa0025a36dfa45ec",
            ),
            Archive(
                f"{_TRAIN}-cat.mat.gz",
                "23c8b86101fbf0904a000b43d3ed2fd9",
                unpacked_md5="fd5120d3f770ad57ebe620eb61a0b633",
            ),
            Archive(
                f"{_TRAIN}-info.mat.gz",
                "51dee1210a742582ff607dfd94e332e3",
                unpacked_md5="19faee774120001fc7e17980d6960451",
            ),
            Archive(
                f"{_TEST}-dat.mat.gz",
                "e4ad715691ed5a3a5f138751a4ceb071",
                unpacked_md5="e9920b7f7b2869a8f1a12e945b2c166c",
            ),
            Archive(
                f"{_TEST}-cat.mat.gz",
                "5aa791cd7e6016cf957ce9bdb93b8603",
                unpacked_md5="fd5120d3f770ad57ebe620eb61a0b633",
            ),
            Archive(
                f"{_TEST}-info.mat.gz",
                "a9454f3864d7fd4bb3ea7fc3eb84924e",
                unpacked_md5="7c5b871cc69dcadec1bf6a18141f5edc",
            ),
        ),
    )
    class_names: ClassVar[tuple[str, ...]] = ("animal", "human", "plane", "truck", "car")
    fingerprint: ClassVar[str] = archives.fingerprint

    @classmethod
    def mirrors(cls) -> Sequence[str]:
        """Return the address of the set's own page."""
        return ["https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/"]

    def catalogue(self, objects: Objects) -> Views:
        """Return class and viewpoint of all pairs, in the order of the files.

        Raises:
            ValueError: If a file is damaged, or neither exists nor can be downloaded.
        """
        return _views(self._path(objects, "cat"), self._path(objects, "info"))

    def pixels(self, objects: Objects, rows: Sequence[int]) -> UInt8[np.ndarray, "rows 2 48 48"]:
        """Return the selected pairs, the left camera first.

        Raises:
            ValueError: If a file is damaged, or neither exists nor can be downloaded.
        """
        return _halved(self._path(objects, "dat"))[rows]

    def _path(self, objects: Objects, kind: str) -> Path:
        ensure(self.archives, self.mirrors)
        stem = _TRAIN if objects == "train" else _TEST
        return self.archives.path(f"{stem}-{kind}.mat.gz")


@cache
def _views(classes: Path, info: Path) -> Views:
    return Views(read_matrix(classes, np.int32, [None]), read_matrix(info, np.int32, [None, 4]))


@cache
def _halved(path: Path) -> UInt8[np.ndarray, "rows 2 48 48"]:
    """Return all photographs of a file at half size: each pixel is the mean of 2 by 2 pixels."""
    shape = (None, 2, _SIDE, _SIDE)
    return np.concatenate([_mean_of_four(block) for block in read_blocks(path, np.uint8, shape)])


def _mean_of_four(
    images: UInt8[np.ndarray, "rows 2 96 96"],
) -> UInt8[np.ndarray, "rows 2 48 48"]:
    rows = images[:, :, 0::2].astype(np.uint16) + images[:, :, 1::2]
    return ((rows[..., 0::2] + rows[..., 1::2] + 2) >> 2).astype(np.uint8)


_TYPES = {
    0x1E3D4C51: np.dtype("<f4"),
    0x1E3D4C53: np.dtype("<f8"),
    0x1E3D4C54: np.dtype("<i4"),
    0x1E3D4C55: np.dtype("u1"),
    0x1E3D4C56: np.dtype("<i2"),
}
_FEWEST_STORED_DIMENSIONS = 3
_MOST_DIMENSIONS = 8
_ROWS_AT_ONCE = 256


def read_matrix(
    path: Path, dtype: type[np.generic], shape: Sequence[int | None]
) -> Shaped[np.ndarray, "rows ..."]:
    """Return all values of a file; see `read_blocks`.

    Raises:
        ValueError: If the file is not such a matrix, or incomplete.
        OSError: If it cannot be read.
    """
    return np.concatenate(list(read_blocks(path, dtype, shape)))


def read_blocks(
    path: Path, dtype: type[np.generic], shape: Sequence[int | None]
) -> Iterator[Shaped[np.ndarray, "rows ..."]]:
    """Yield the values of a file a few rows at a time, so that they need not all fit in memory.

    Args:
        path: The file; it is unpacked where its name ends in ".gz".
        dtype: The type that its values must have.
        shape: The shape that it must have; None for any.

    Raises:
        ValueError: If the file is not such a matrix, or incomplete.
        OSError: If it cannot be read.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield from _blocks(file, np.dtype(dtype), shape)
    except _DamagedError as error:
        raise ValueError(f"{path} {error}: put a whole file in its place.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(
            f"{path} cannot be unpacked ({error}): put a whole file in its place."
        ) from None


class _DamagedError(Exception):
    """What is wrong with a file, to follow its name."""


def _blocks(
    file: BufferedIOBase, dtype: np.dtype[np.generic], shape: Sequence[int | None]
) -> Iterator[Shaped[np.ndarray, "rows ..."]]:
    num_rows, *row_shape = _read_shape(file, dtype, shape)
    for start in range(0, num_rows, _ROWS_AT_ONCE):
        block = (min(_ROWS_AT_ONCE, num_rows - start), *row_shape)
        content = _read(file, prod(block) * dtype.itemsize, "values")
        yield np.frombuffer(content, dtype).reshape(block)
    if file.read(1):
        raise _DamagedError("continues after its last value")


def _read_shape(
    file: BufferedIOBase, dtype: np.dtype[np.generic], shape: Sequence[int | None]
) -> list[int]:
    magic, num_dimensions = np.frombuffer(_read(file, 8, "header"), "<u4").tolist()
    if magic not in _TYPES:
        known = ", ".join(f"{code:#x}" for code in _TYPES)
        raise _DamagedError(
            f"is not a matrix file of NORB: it starts with {magic:#x}, not one of {known}"
        )
    if _TYPES[magic] != dtype:
        raise _DamagedError(f"holds values of the type {_TYPES[magic]}, not {dtype}")
    if not 1 <= num_dimensions <= _MOST_DIMENSIONS:
        raise _DamagedError(f"states {num_dimensions} dimensions, not 1 to {_MOST_DIMENSIONS}")
    num_stored = max(_FEWEST_STORED_DIMENSIONS, num_dimensions)
    stored = np.frombuffer(_read(file, 4 * num_stored, "header"), "<i4").tolist()
    sizes, unused = stored[:num_dimensions], stored[num_dimensions:]
    is_expected = len(sizes) == len(shape) and all(
        size > 0 and wanted in {None, size} for size, wanted in zip(sizes, shape, strict=True)
    )
    if not is_expected or set(unused) - {1}:
        expected = " x ".join("any" if size is None else str(size) for size in shape)
        raise _DamagedError(f"has the dimensions {' x '.join(map(str, stored))}, not {expected}")
    return sizes


def _read(file: BufferedIOBase, num_bytes: int, part: str) -> bytes:
    content = file.read(num_bytes)
    if len(content) < num_bytes:
        raise _DamagedError(f"ends before the end of its {part}")
    return content
