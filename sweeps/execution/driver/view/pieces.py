"""Small drawings of text: a bar, a curve in one line, settings in short words."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from capsmodel.spelling import short_names

_STEPS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float, width: int = 30) -> str:
    """Return a bar of which a share, from 0 to 1, is filled, to an eighth of a letter."""
    eighths = round(8 * width * min(max(share, 0.0), 1.0))
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + _EIGHTHS[rest] * bool(rest)).ljust(width, "░")


def sparkline(values: Sequence[float], width: int = 16) -> str:
    """Return a curve in one line: its lowest value at the bottom, its highest at the top.

    Where there are more values than letters, each letter is the last of its share. What is no
    number is a cross, and a level curve lies at the bottom.
    """
    num = min(len(values), width)
    shown = [values[(place + 1) * len(values) // num - 1] for place in range(num)]
    numbers = [value for value in shown if math.isfinite(value)]
    low, high = min(numbers, default=0.0), max(numbers, default=0.0)
    span = high - low or 1.0
    return "".join(
        _STEPS[round((len(_STEPS) - 1) * (value - low) / span)] if math.isfinite(value) else "x"
        for value in shown
    )


def settings_words(changes: Mapping[str, Any]) -> str:
    """Return settings by their short names: `routing dynamic, learning_rate 0.0884`."""
    names = short_names([*changes])
    return ", ".join(
        f"{names[path]} {f'{value:.3g}' if isinstance(value, float) else value}"
        for path, value in changes.items()
    )
