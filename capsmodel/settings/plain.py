"""NumPy's numbers and arrays as plain ones, which is what settings, keys and records hold."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, cast


def plain(value: Any) -> Any:
    """Return a value in which NumPy's numbers and arrays are Python's numbers and lists.

    Those in dictionaries, lists and tuples are replaced too. A value without any is returned
    itself. NumPy is not loaded for it: where it is not loaded, there are none.

    Example:
        >>> import numpy as np
        >>> plain({"batch_size": np.int64(64), "rates": np.array([0.5, 0.25])})
        {'batch_size': 64, 'rates': [0.5, 0.25]}
    """
    numpy: Any = sys.modules.get("numpy")
    if numpy is None:
        return value
    if isinstance(value, numpy.ndarray):
        return plain(value.tolist())
    if isinstance(value, numpy.generic):
        item = value.item()
        # of more digits than a float has; what is no number stays
        return float(value) if isinstance(item, numpy.floating) else item
    if isinstance(value, dict):
        return _replaced(value, {name: plain(item) for name, item in cast(Any, value).items()})
    if type(value) in {list, tuple}:
        return _replaced(value, type(value)(plain(item) for item in cast(Sequence[Any], value)))
    return value


def _replaced(value: Any, changed: Any) -> Any:
    """Return what was changed, or the value itself if none of its items was."""
    if isinstance(value, Mapping):
        is_same = all(changed[name] is item for name, item in cast(Any, value).items())
    else:
        is_same = all(new is old for new, old in zip(changed, value, strict=True))
    return value if is_same else changed
