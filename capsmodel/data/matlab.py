"""Variables of MATLAB files, read without running anything that is in them."""

import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from capsmodel.data.archive import ROOT_VARIABLE

_LARGEST_BYTE = 255
_OF_TORN_FILES = (
    EOFError,
    IndexError,
    KeyError,
    NotImplementedError,
    OSError,
    TypeError,
    ValueError,
    zlib.error,
    Warning,
)


def read_variables(path: Path, *names: str) -> list[np.ndarray]:
    """Return variables of a MATLAB file of version 4 to 7.

    Args:
        path: The file.
        names: Names of the variables.

    Raises:
        ValueError: If the file cannot be read, is damaged, or lacks one of them.
    """
    import scipy.io  # a fifth of a second to import, and few data sets need it
    from scipy.io.matlab import MatReadError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what scipy wonders at is no published file
            matrices: dict[str, Any] = scipy.io.loadmat(path, appendmat=False, variable_names=names)
    except FileNotFoundError:
        raise ValueError(
            f"{path} is missing: put it there, or let {ROOT_VARIABLE} name a folder that has it."
        ) from None
    except (*_OF_TORN_FILES, MatReadError) as error:
        raise ValueError(
            f"{path} cannot be read as a MATLAB file ({error}): put a whole file in its place."
        ) from None
    if absent := [name for name in names if name not in matrices]:
        raise ValueError(
            f"{path} has no variable '{absent[0]}': put the published file in its place."
        )
    return [np.asarray(matrices[name]) for name in names]


def of_field(path: Path, struct: np.ndarray, name: str) -> np.ndarray:
    """Return a field of a structure that was read.

    Args:
        path: Its file, for the message.
        struct: A structure, alone in its array.
        name: Name of the field.

    Raises:
        ValueError: If there is no such field.
    """
    if struct.shape != (1, 1) or name not in (struct.dtype.names or ()):
        raise ValueError(
            f"{path} has no field '{name}' in a single structure: put the published file in its "
            f"place."
        )
    return np.asarray(struct[0, 0][name])


def checked_bytes(
    path: Path, name: str, values: np.ndarray, shape: Sequence[int | None]
) -> UInt8[np.ndarray, "..."]:
    """Return whole numbers from 0 to 255 as bytes.

    Args:
        path: Their file, for the message.
        name: Their name there, for the message.
        values: As they were read.
        shape: The shape that they must have; None for any size above 0.

    Raises:
        ValueError: If they are something else.
    """
    fits = values.ndim == len(shape) and all(
        size > 0 and wanted in {None, size}
        for size, wanted in zip(values.shape, shape, strict=True)
    )
    if not fits:
        expected = " x ".join("any" if size is None else str(size) for size in shape)
        actual = " x ".join(map(str, values.shape))
        raise ValueError(
            f"'{name}' of {path} has the dimensions {actual}, not {expected}: put the published "
            f"file in its place."
        )
    is_number = values.dtype.kind in "uif"
    if not (is_number and values.min() >= 0 and values.max() <= _LARGEST_BYTE):
        raise ValueError(
            f"'{name}' of {path} must have grey values or labels from 0 to 255: put the published "
            f"file in its place."
        )
    return values.astype(np.uint8)
