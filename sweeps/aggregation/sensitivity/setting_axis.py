"""A searched setting as an axis from 0 to 1: where a value lies, and how values are grouped."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from sweeps.records.manifest_plan import ManifestDimension, Plain

_MOST_LEVELS = 10  # of a range of whole numbers, up to which each value stands for itself
_NUM_BINS = 5


@dataclass(frozen=True)
class Group:
    """Values of a setting that are grouped: a single value, or a range.

    Attributes:
        label: The value, or the range in words.
        low: Its start on the axis; minus infinity for the first group.
        high: Its end, which is not in the group.
    """

    label: str
    low: float
    high: float

    def holds(self, unit: float) -> bool:
        """Whether a place on the axis is in the group."""
        return self.low <= unit < self.high


@dataclass(frozen=True)
class SettingAxis:
    """Where the values of a searched setting lie between 0 and 1.

    Choices and short ranges of whole numbers have levels: equal parts of the axis in their order,
    a value in the middle of its part. Other numbers lie as far along the axis as in their range,
    on a logarithmic scale where the search uses one.
    """

    dimension: ManifestDimension

    @cached_property
    def levels(self) -> tuple[Plain, ...]:
        """The values that each have a part of the axis; empty for a range with too many."""
        if self.is_choice:
            return self.dimension.choices
        low, high = self._range
        step = self.dimension.step or 1
        is_short = self.dimension.kind == "ints" and (high - low) // step < _MOST_LEVELS
        return tuple(range(int(low), int(high) + 1, step)) if is_short else ()

    @property
    def is_choice(self) -> bool:
        """Whether its values have no order."""
        return self.dimension.kind == "choices"

    @property
    def is_log(self) -> bool:
        """Whether its numbers are laid out by their logarithms."""
        return self.dimension.log and not self.levels and self._range[0] > 0

    def unit(self, value: Plain | None) -> float | None:
        """Return the place of a value; None for None or a value the setting cannot have."""
        if value is None:
            return None
        if self.levels:
            place = next((p for p, level in enumerate(self.levels) if _is_same(level, value)), None)
            return None if place is None else (place + 0.5) / len(self.levels)
        if isinstance(value, bool | str) or not math.isfinite(value):
            return None
        low, high = (self._scaled(end) for end in self._range)
        if (self.is_log and value <= 0) or high <= low:
            return None
        return min(1.0, max(0.0, (self._scaled(value) - low) / (high - low)))

    def number(self, unit: float) -> float:
        """Return the number at a place of an axis without levels."""
        low, high = (self._scaled(end) for end in self._range)
        scaled = low + unit * (high - low)
        return 10**scaled if self.is_log else scaled

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """One group per level, or five parts of equal length if the axis has no levels."""
        if self.levels:
            labels = [value_text(level) for level in self.levels]
            edges = [place / len(labels) for place in range(len(labels) + 1)]
        else:
            edges = [place / _NUM_BINS for place in range(_NUM_BINS + 1)]
            labels = list(self._bin_labels(edges))
        edges = [-math.inf, *edges[1:-1], math.inf]
        ends = zip(labels, pairwise(edges), strict=True)
        return tuple(Group(label, low, high) for label, (low, high) in ends)

    @property
    def _range(self) -> tuple[float, float]:
        low, high = self.dimension.low, self.dimension.high
        return (0.0 if low is None else low), (0.0 if high is None else high)

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self.is_log else float(value)

    def _bin_labels(self, edges: list[float]) -> Iterator[str]:
        numbers = [self.number(edge) for edge in edges]
        is_whole = self.dimension.kind == "ints"
        for place, (low, high) in enumerate(pairwise(numbers)):
            first, last = low, high
            if is_whole:
                is_last = place == len(numbers) - 2
                first = math.ceil(low - 1e-9 * abs(low))
                last = math.floor(high) if is_last else math.ceil(high - 1e-9 * abs(high)) - 1
            yield f"{value_text(first)} to {value_text(max(first, last))}"


def value_text(value: Plain) -> str:
    """Return a value as tables show it: at most three digits, whole numbers in full."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.3g}"
        case _:
            return str(value)


def _is_same(level: Plain, value: Plain) -> bool:
    """Whether a value is a level; 1 and 1.0 are the same, 1 and true are not."""
    return level == value and isinstance(level, bool) == isinstance(value, bool)
