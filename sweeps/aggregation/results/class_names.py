"""What classes are called, from the arrays of an evaluation."""

from collections.abc import Mapping

import numpy as np

from sweeps.records.plain_text import one_line, shortened

_LONGEST = 18


def class_name(names: tuple[str, ...], label: int) -> str:
    """Return what a class is called, short enough for a figure."""
    return shortened(one_line(names[label]), _LONGEST) if label < len(names) else str(label)


def class_names_in(arrays: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Return the names that arrays hold as bytes with line breaks, () if none."""
    encoded = arrays.get("class_names")
    if encoded is None or encoded.dtype != np.uint8:
        return ()
    return tuple(encoded.tobytes().decode(errors="replace").split("\n"))
