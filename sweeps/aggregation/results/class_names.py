"""What classes are called, from the arrays of an evaluation or of predictions."""

from collections.abc import Mapping

import numpy as np

from sweeps.records.plain_text import one_line, shortened

_LONGEST = 18


def class_name(names: tuple[str, ...], label: int) -> str:
    """Return what a class is called, short enough for a figure."""
    return shortened(one_line(names[label]), _LONGEST) if label < len(names) else str(label)


def class_names_in(arrays: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Return the names of classes that arrays hold, () if none."""
    return texts_in(arrays, "class_names")


def texts_in(arrays: Mapping[str, np.ndarray], name: str) -> tuple[str, ...]:
    """Return the texts that an array holds as bytes with line breaks, () if it is missing."""
    encoded = arrays.get(name)
    if encoded is None or encoded.dtype != np.uint8:
        return ()
    return tuple(encoded.tobytes().decode(errors="replace").split("\n"))
