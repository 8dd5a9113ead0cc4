"""Cells of shares beyond shadows."""

from sweeps.aggregation.rendering.table import MINUS, Cell
from sweeps.aggregation.sensitivity.shadows import Excess

SHARE_FIELDS = ("", "_low", "_high", "_adjusted_p")


def share_cell(excess: Excess | None, is_bold: bool) -> Cell:
    """Return an excess in percent with its band. Values: as `SHARE_FIELDS`."""
    if excess is None:
        return Cell("", (None, None, None, None))
    share = excess.share
    mean, low, high = (value or 0.0 for value in (share.mean, share.low, share.high))
    text = f"{signed(mean, 1)} ({signed(low, 1)} to {signed(high, 1)})"
    return Cell(text, (mean, low, high, excess.adjusted_p), is_bold=is_bold)


def signed(value: float, digits: int, sign: str = "") -> str:
    """Return a number with a true minus, and none before a zero."""
    rounded = round(value, digits) + 0.0
    return f"{rounded:{sign if rounded else ''}.{digits}f}".replace("-", MINUS)
