"""Measured numbers as readers see them. Fractions become percent here, and nowhere else.

Results, tables and figures hand over what the records hold, one value per seed.
"""

import math
from collections.abc import Iterable
from dataclasses import replace

from capsmodel.metrics import Metric, percent
from sweeps.aggregation.rendering.table import (
    Cell,
    Column,
    mean_cell,
    mean_or_spread_cell,
    number_text,
    spread_cell,
)
from sweeps.aggregation.statistics.intervals import (
    Interval,
    mean_interval,
    where_fractions_lie,
)

MEAN_ENDS = ("", "_low", "_high", "_sd")
MOST_POINTS = 50  # what is detectable is no figure beyond: half of all images
_ROUNDING = 1e-9
_SMALLEST_P = 0.001


def heading(metric: Metric, text: str = "") -> str:
    """Return the heading of a metric's values, with the unit that readers see.

    Args:
        metric: Whose values they are.
        text: Their name; by default the metric's own.
    """
    return f"{text or metric.text}{' (%)' * metric.is_fraction}"


def field_name(metric: Metric) -> str:
    """Return the field name of a metric's values in the unit that readers see."""
    return metric.name + "_percent" * metric.is_fraction


def measured_column(metric: Metric, text: str) -> Column:
    """Return a column of cells as `measured_cell` gives them."""
    name = field_name(metric)
    return Column(heading(metric, text), tuple(f"{name}{end}" for end in MEAN_ENDS))


def measured_interval(values: Iterable[float], metric: Metric) -> Interval:
    """Return mean and t interval of a metric's values, in the unit that readers are shown.

    The ends of a fraction are cut to what a fraction can be; half the width is not.
    """
    interval = mean_interval(metric.shown(value) for value in values)
    return where_fractions_lie(interval, percent(1)) if metric.is_fraction else interval


def measured_cell(mean: Interval, metric: Metric, digits: int = 2) -> Cell:
    """Return a metric's mean over an arm, given in the record's unit, in that of readers.

    With half its interval where it has ends, else with its standard deviation in brackets. Values:
    mean, low, high, standard deviation.
    """
    return mean_or_spread_cell(shown_interval(mean, metric), digits)


def measured_spread_cell(values: Iterable[float], metric: Metric, digits: int = 2) -> Cell:
    """Return the mean of a metric's values with their spread, as `spread_cell`."""
    return spread_cell([metric.shown(value) for value in values], digits)


def shown_interval(interval: Interval, metric: Metric) -> Interval:
    """Return an interval of a metric's values, or of their differences, as readers are shown it."""
    ends = (interval.mean, interval.low, interval.high, interval.half_before_cut)
    mean, low, high, half = (shown_value(end, metric) for end in ends)
    deviation = shown_value(interval.deviation, metric)
    return Interval(interval.n, mean, low, high, interval.confidence, half, deviation)


def ends_around_mean(interval: Interval) -> list[list[float]] | None:
    """Return the distances from the mean to both ends, or None without an interval."""
    if interval.mean is None or interval.low is None or interval.high is None:
        return None
    return [[interval.mean - interval.low], [interval.high - interval.mean]]


def shown_value(value: float | None, metric: Metric) -> float | None:
    """Return a metric's value, or a difference of two, as readers are shown it."""
    return None if value is None else metric.shown(value)


def value_cell(value: float, metric: Metric, digits: int = 2) -> Cell:
    """Return one value of a metric. Value: the number."""
    shown = metric.shown(value)
    return Cell(f"{shown:.{digits}f}", (shown,))


def recorded_mean_cell(mean: Interval, metric: Metric) -> Cell:
    """Return the cell of a mean. Its text has fractions in percent, its values as recorded."""
    digits = 2 if metric.is_fraction else 4
    return replace(mean_or_spread_cell(mean), text=measured_cell(mean, metric, digits).text)


def share_cell(share: Interval | None, digits: int = 1) -> Cell:
    """Return a share of a whole in percent with its interval. Values: mean, low, high."""
    ends = (None,) * 3 if share is None else (share.mean, share.low, share.high)
    mean, low, high = (None if end is None else percent(end) for end in ends)
    return mean_cell(Interval(0, mean, low, high), digits)


def part_cell(part: float | None, digits: int = 1) -> Cell:
    """Return a share of a whole in percent, without an interval. Value: the number."""
    if part is None:
        return Cell("", (None,))
    return Cell(number_text(percent(part), digits), (percent(part),))


def p_cell(p_value: float | None) -> Cell:
    """Return a p value with three digits. Value: the number."""
    if p_value is None:
        return Cell("", (None,))
    is_small = p_value < _SMALLEST_P
    return Cell(f"< {_SMALLEST_P}" if is_small else f"{p_value:.3f}", (p_value,))


def detectable_text(points: float) -> str:
    """Return the text of the smallest detectable difference, rounded up.

    Beyond half of all images no number is given: arms that differ so much spread otherwise.
    """
    if points > MOST_POINTS:
        return f"over {MOST_POINTS}"
    return f"{math.ceil(10 * points - _ROUNDING) / 10:.1f}"
