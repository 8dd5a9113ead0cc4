"""In what two trials or two sweeps differ: settings, where they were made, and results."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from capsmodel.metrics import Metric
from sweeps.aggregation.frames.units import UNITS
from sweeps.aggregation.rendering.notebook_pieces import (
    difference_text,
    mean_text,
    summary,
    value_text,
)
from sweeps.aggregation.rendering.table import (
    Cell,
    Column,
    Table,
    text_cell,
)
from sweeps.aggregation.statistics.intervals import Interval

if TYPE_CHECKING:
    import pandas as pd

Value = str | int | float | bool | None
Part = Literal["setting", "circumstance", "result"]
_NOTHING = "not there"
_SHORT = 8


class Several(str):
    """Several values as one text, with all their digits.

    Attributes:
        shown: The same for readers, numbers to five digits.
    """

    shown: str

    def __new__(cls, values: Iterable[Any]) -> Self:
        """Join the values."""
        held = [*values]
        text = super().__new__(cls, ", ".join(map(str, held)))
        text.shown = ", ".join(map(_short_text, held))
        return text


@dataclass(frozen=True)
class Changed:
    """Something that two trials or two sweeps both may have.

    Attributes:
        part: A result is told also where both have the same.
        first: Of the first one, None where it has none such.
        second: Of the second one.
        metric: What a result is a value of; None where it is something else.
        intervals: Those of the means that a result is, as far as there are any.
    """

    part: Part
    name: str
    first: Value
    second: Value
    metric: Metric | None = None
    intervals: tuple[Interval, Interval] | None = None

    @property
    def difference(self) -> float | None:
        """The second less the first, of two finite values of a metric; it is no test."""
        if self.metric is None:
            return None
        values = (self.first, self.second)
        if not all(isinstance(v, int | float) and math.isfinite(v) for v in values):
            return None
        return float(self.second or 0) - float(self.first or 0)

    @property
    def difference_text(self) -> str:
        """The difference as readers are shown it: of fractions in points."""
        if self.difference is None or self.metric is None:
            return ""
        return difference_text(self.difference, self.metric)

    @property
    def unit(self) -> str | None:
        """Of both values; None of what is no value of a metric, or has none."""
        return self.metric.unit if self.metric else None

    @property
    def texts(self) -> tuple[str, str]:
        """Both values as readers are shown them."""
        return self._text(self.first, 0), self._text(self.second, 1)

    def _text(self, value: Value, place: Literal[0, 1]) -> str:
        if value is None:
            return _NOTHING if self.part == "setting" else ""
        if self.metric is None or not isinstance(value, int | float):
            return _short_text(value)
        if self.intervals:
            return mean_text(self.intervals[place], self.metric)
        return value_text(value, self.metric)


@dataclass(frozen=True, repr=False)
class Difference:
    """In what two trials, or two sweeps, differ.

    Attributes:
        kind: What both are.
        first: The first one's name, of a trial its key.
        second: The second one's.
        rows: Settings that differ, then circumstances that differ (data, code, machine), then
            results.
    """

    kind: Literal["trials", "sweeps"]
    first: str
    second: str
    rows: tuple[Changed, ...]

    def __repr__(self) -> str:
        number = len(self.settings)
        settings = "1 setting differs" if number == 1 else f"{number} settings differ"
        counts = (settings, f"{len(self.results)} results")
        return summary("Difference", " ".join(self._short), *counts)

    def _repr_html_(self) -> str:
        return self.table.html

    @property
    def settings(self) -> dict[str, tuple[Value, Value]]:
        """Path -> both values, of the settings that differ."""
        return self._of("setting")

    @property
    def circumstances(self) -> dict[str, tuple[Value, Value]]:
        """Name -> both values, of what differs in data, code and machine."""
        return self._of("circumstance")

    @property
    def results(self) -> dict[str, tuple[Value, Value]]:
        """Name -> both values; fractions as they are recorded."""
        return self._of("result")

    @property
    def frame(self) -> "pd.DataFrame":
        """One row each: part, name, first, second, difference of two numbers, unit."""
        import pandas as pd

        lines = [
            (one.part, one.name, one.first, one.second, one.difference, one.unit)
            for one in self.rows
        ]
        frame = pd.DataFrame(
            lines, columns=["part", "name", "first", "second", "difference", "unit"]
        )
        frame.attrs[UNITS] = {}  # each row has its own
        return frame

    @property
    def table(self) -> Table:
        """The same for a reader, with fractions in percent."""
        first, second = self._short
        return Table(
            name="diff",
            title=f"{first} and {second}: what differs, and results",
            columns=(
                Column("", ("part",), align="left"),
                Column("Name", ("name",), align="left"),
                Column(first, ("first",), align="left"),
                Column(second, ("second",), align="left"),
                Column("Difference", ("difference",), hide_if_empty=True),
            ),
            rows=tuple(self._cells()),
            notes=tuple(self._notes()),
        )

    @property
    def _short(self) -> tuple[str, str]:
        """Both names, of trials the first characters of their keys, as many as tell them apart."""
        if self.kind == "sweeps":
            return self.first, self.second
        length = _SHORT if self.first[:_SHORT] != self.second[:_SHORT] else None
        return self.first[:length], self.second[:length]

    def _of(self, part: Part) -> dict[str, tuple[Value, Value]]:
        return {one.name: (one.first, one.second) for one in self.rows if one.part == part}

    def _cells(self) -> Iterator[tuple[Cell, ...]]:
        before = ""
        for one in self.rows:
            first, second = one.texts
            yield (
                Cell(one.part if one.part != before else "", (one.part,)),
                text_cell(one.name),
                Cell(first, (one.first,)),
                Cell(second, (one.second,)),
                Cell(one.difference_text, (one.difference,)),
            )
            before = one.part

    def _notes(self) -> Iterator[str]:
        if not self.settings:
            yield "No setting differs."
        if self.kind == "sweeps":
            yield "Nothing is tested across two sweeps. To compare arms, have both in one sweep."


def _short_text(value: Any) -> str:
    if isinstance(value, Several):
        return value.shown
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def changed_only(
    part: Part, first: dict[str, Value], second: dict[str, Value]
) -> Iterable[Changed]:
    """Yield what differs between two mappings, in their order."""
    for name in dict.fromkeys([*first, *second]):
        one, other = first.get(name), second.get(name)
        if type(one) is not type(other) or one != other:
            yield Changed(part, name, one, other)
