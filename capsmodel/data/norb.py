"""NORB's binary matrix files: a magic number, dimensions and values, little-endian throughout."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from io import BufferedIOBase
from math import prod
from pathlib import Path

import numpy as np
from jaxtyping import Shaped

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
        ValueError: If the file is no such matrix, or not a whole one.
        OSError: If it cannot be read.
    """
    return np.concatenate(list(read_blocks(path, dtype, shape)))


def read_blocks(
    path: Path, dtype: type[np.generic], shape: Sequence[int | None]
) -> Iterator[Shaped[np.ndarray, "rows ..."]]:
    """Return the values of a file, some rows at a time, so that never all are in memory.

    Args:
        path: The file; it is unpacked where its name ends in ".gz".
        dtype: What kind of values it must hold.
        shape: What dimensions it must have, None for any.

    Raises:
        ValueError: If the file is no such matrix, or not a whole one.
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
        raise _DamagedError("goes on after its last value")


def _read_shape(
    file: BufferedIOBase, dtype: np.dtype[np.generic], shape: Sequence[int | None]
) -> list[int]:
    magic, num_dimensions = np.frombuffer(_read(file, 8, "header"), "<u4").tolist()
    if magic not in _TYPES:
        known = ", ".join(f"{code:#x}" for code in _TYPES)
        raise _DamagedError(
            f"is no matrix file of NORB, as it starts with {magic:#x}, not one of {known}"
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


def _read(file: BufferedIOBase, num_bytes: int, what: str) -> bytes:
    content = file.read(num_bytes)
    if len(content) < num_bytes:
        raise _DamagedError(f"ends before the end of its {what}")
    return content
