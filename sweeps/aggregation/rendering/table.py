"""A table as a value: what the renderers turn into Markdown, CSV, LaTeX and terminal output."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal, NamedTuple

from sweeps.aggregation.rendering.notebook_pieces import (
    MINUS,
    PLUS_MINUS,
    Grid,
    Shown,
    block,
    folded,
    line,
    summary,
)
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.records.plain_text import one_line, shortened

ALONE_MARK = "\N{DOUBLE DAGGER}"
"""Behind an interval, and before the note that says what it means."""

MOST_NOTES = 6
"""How many notes of a table stand below it; the others are folded, or in its file."""

Value = str | int | float | bool | None


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        title: Its heading for a reader.
        fields: The names of its columns in CSV.
        hide_if_empty: Whether it is hidden from readers if none of its cells has a text.
        is_answer: Whether it says what the table is for: a narrow terminal leaves it out last.
        group: What stands over it and those of the same group beside it; "" for nothing.
        cell: Makes its cell from the value that a row shows, for `rows_of`.
    """

    title: str
    fields: tuple[str, ...]
    align: Literal["left", "right"] = "right"
    hide_if_empty: bool = False
    is_answer: bool = False
    group: str = ""
    cell: "Callable[[Any], Cell] | None" = field(default=None, repr=False, compare=False)

    @property
    def is_name(self) -> bool:
        """Whether it names the arm of a row."""
        return self.fields[0] == "arm"


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: What a reader sees, not escaped for any format.
        values: What a program reads, one for each field of the column; None is empty.
    """

    text: str
    values: tuple[Value, ...]
    is_bold: bool = False


class Headline(NamedTuple):
    """A table's answer in a few words.

    Attributes:
        is_decided: Whether something is shown: a difference, an equivalence, what matters.
    """

    text: str
    is_decided: bool


class Needed(str):
    """A note or lead without which a reader misreads ±, bold or a mark: it is never folded."""

    __slots__ = ()


@dataclass(frozen=True, repr=False)
class Table:
    """A table with its notes. Texts in it are untrusted, and renderers escape them.

    Attributes:
        name: A slug: the name of its files.
        warning: A paragraph before the title, such as what was not launched as declared.
        lead: A line that stands under the title, before all else.
        headline: The answer in a few words, for the head of a page; None where there is none.
        notes: Sentences that stand under it, in the order of their weight.
        for_programs: What programs read in its place, where that has other rows.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    warning: str = ""
    lead: str = ""
    description: str = ""
    notes: tuple[str, ...] = ()
    for_programs: "Table | None" = None
    headline: Headline | None = None

    def __post_init__(self) -> None:
        widths = [len(column.fields) for column in self.columns]
        for row in self.rows:
            assert [len(cell.values) for cell in row] == widths, row

    def __repr__(self) -> str:
        size = f"{len(self.rows)} row{'s' * (len(self.rows) != 1)}"
        return summary("Table", self.name, shortened(self.title, 60), size)

    def _repr_html_(self) -> str:
        return self.html

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """What stands over columns, and over how many, from the left; empty without any group."""
        runs = [(text, len([*run])) for text, run in groupby(c.group for c in self.columns)]
        return tuple(runs) if any(text for text, _ in runs) else ()

    @property
    def is_decided(self) -> bool:
        """Whether its headline says that something is shown."""
        return self.headline is not None and self.headline.is_decided

    @property
    def main_notes(self) -> tuple[str, ...]:
        """All needed notes, filled up to six with the first others. They keep their order."""
        needed = [note for note in self.notes if isinstance(note, Needed)]
        others = [note for note in self.notes if not isinstance(note, Needed)]
        main = {*needed, *others[: max(0, MOST_NOTES - len(needed))]}
        return tuple(note for note in self.notes if note in main)

    @property
    def needed_notes(self) -> tuple[str, ...]:
        """The notes that are never folded."""
        return tuple(note for note in self.notes if isinstance(note, Needed))

    @property
    def other_notes(self) -> tuple[str, ...]:
        """The notes that may be folded."""
        return tuple(note for note in self.notes if not isinstance(note, Needed))

    @property
    def more_notes(self) -> tuple[str, ...]:
        """All other notes."""
        main = self.main_notes
        return tuple(note for note in self.notes if note not in main)

    @property
    def more_notes_title(self) -> str:
        """How many these are: `1 more note`."""
        return f"{len(self.more_notes)} more note{'s' * (len(self.more_notes) > 1)}"

    @property
    def notes_in_short(self) -> tuple[str, ...]:
        """The main notes, and one that says where to find the others."""
        more = f"{self.more_notes_title}: see {self.name}.md."
        return (*self.main_notes, *([more] if self.more_notes else ()))

    @property
    def html(self) -> str:
        """Return it for a notebook: what a reader sees, small and escaped."""
        seen = shown(self)
        grid = Grid(
            [column.title for column in seen.columns],
            [[Shown(cell.text, cell.is_bold) for cell in row] for row in seen.rows],
            [n for n, column in enumerate(seen.columns) if column.align == "right"],
        )
        main = (line(f"({n}) {note}") for n, note in enumerate(self.main_notes, start=1))
        more = folded(self.more_notes_title, "".join(map(line, self.more_notes)))
        lead = line(seen.lead) * bool(seen.lead)
        warning = line(seen.warning) * bool(seen.warning)
        body = block(seen.title, lead, grid.html, *main, more * bool(self.more_notes))
        return f"{warning}{body}"


def shown(table: Table) -> Table:
    """Return the table without its empty columns that readers need not see."""
    places = [
        place
        for place, column in enumerate(table.columns)
        if not column.hide_if_empty or any(row[place].text for row in table.rows)
    ]
    return replace(
        table,
        columns=tuple(table.columns[place] for place in places),
        rows=tuple(tuple(row[place] for place in places) for row in table.rows),
    )


def rows_of(columns: Sequence[Column], items: Iterable[Any]) -> tuple[tuple[Cell, ...], ...]:
    """Return a row of each item, by the columns' own functions."""
    return tuple(
        tuple(column.cell(item) for column in columns if column.cell is not None) for item in items
    )


def values_table(name: str, rows: Sequence[Mapping[str, Value]]) -> Table:
    """Return a table for programs of rows that hold the same fields in the same order."""
    return data_table(name, [*rows[0]], ([*row.values()] for row in rows))


def data_table(name: str, fields: Sequence[str], rows: Iterable[Sequence[Value]]) -> Table:
    """Return a table for programs: one column a field, and no texts."""
    return Table(
        name=name,
        title=name,
        columns=tuple(Column(field, (field,)) for field in fields),
        rows=tuple(tuple(Cell("", (value,)) for value in row) for row in rows),
    )


def arm_cell(name: str, is_baseline: bool) -> Cell:
    """Return the cell that names an arm. Its values: name, whether it is the baseline."""
    text = one_line(name)
    return Cell(f"{text} (baseline)" if is_baseline else text, (name, is_baseline))


def count_cell(count: int, total: int) -> Cell:
    """Return a count, with the total where that is larger. Values: count, total."""
    return Cell(str(count) if count == total else f"{count} of {total}", (count, total))


def integer_cell(value: int) -> Cell:
    """Return a whole number with separated thousands. Value: the number."""
    return Cell(f"{value:,}", (value,))


def text_cell(text: str) -> Cell:
    """Return a text. Value: the text."""
    return Cell(one_line(text), (text,))


def mean_cell(interval: Interval, digits: int = 2) -> Cell:
    """Return mean and half width of an interval. Values: mean, low, high."""
    return Cell(
        _mean_text(interval, "", digits),
        (interval.mean, interval.low, interval.high),
    )


def mean_or_spread_cell(interval: Interval, digits: int = 2) -> Cell:
    """Return `mean ± half`, without ends `mean (standard deviation)`.

    Values: mean, low, high, standard deviation.
    """
    cell, deviation = mean_cell(interval, digits), interval.deviation
    text = cell.text
    if interval.half_width is None and deviation is not None:
        text = f"{text} ({deviation:.{digits}f})"
    return Cell(text, (*cell.values, deviation))


def difference_cell(interval: Interval, n: int, digits: int = 2, *, is_bold: bool = False) -> Cell:
    """Return a signed difference. Values: mean, low, high, number of pairs.

    Args:
        interval: Interval of the paired differences.
        n: Trials of the arm; a difference that rests on fewer pairs says so.
        digits: After the point.
        is_bold: Whether it was found to be other than 0. An interval alone never says so.
    """
    text = _mean_text(interval, "+", digits)
    if text and interval.n != n:
        text += f" (n = {interval.n})"
    return Cell(
        text,
        (interval.mean, interval.low, interval.high, interval.n),
        is_bold=is_bold,
    )


def no_difference_cell() -> Cell:
    """Return the empty difference of the baseline. Values as in `difference_cell`."""
    return Cell("", (None, None, None, None))


def spread_cell(values: Sequence[float], digits: int = 2) -> Cell:
    """Return the mean of the values and their standard deviation, which is no test.

    Values: mean, standard deviation, standard error, lowest, highest; without a mean all are
    empty, without a second value the two of the spread.
    """
    if not values:
        return Cell("", (None,) * 5)
    mean = statistics.fmean(sorted(values))
    text = f"{mean:.{digits}f}"
    if len(values) == 1:
        return Cell(text, (mean, None, None, values[0], values[0]))
    deviation = statistics.stdev(values)
    error = deviation / math.sqrt(len(values))
    ends = (min(values), max(values))
    return Cell(f"{text} ({deviation:.{digits}f})", (mean, deviation, error, *ends))


def range_cell(values: Sequence[float], digits: int) -> Cell:
    """Return the mean of the values with the lowest and highest. Values: mean, lowest, highest."""
    if not values:
        return Cell("", (None, None, None))
    mean, low, high = sum(sorted(values)) / len(values), min(values), max(values)
    texts = [f"{value:,.{digits}f}" for value in (mean, low, high)]
    text = texts[0] if texts[1] == texts[2] else f"{texts[0]} ({texts[1]} to {texts[2]})"
    return Cell(text, (mean, low, high))


def number_text(value: float, digits: int = 2, sign: Literal["", "+"] = "") -> str:
    """Return a number as tables print it: a minus sign, none before a zero, "+" if asked for."""
    rounded = round(value, digits) + 0.0
    return f"{rounded:{sign if rounded else ''}.{digits}f}".replace("-", MINUS)


def _mean_text(interval: Interval, sign: Literal["", "+"], digits: int) -> str:
    if interval.mean is None:
        return ""
    text = number_text(interval.mean, digits, sign)
    half = interval.half_width
    return text if half is None else f"{text} {PLUS_MINUS} {half:.{digits}f}"
