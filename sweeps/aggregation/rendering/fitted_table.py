"""A table for a terminal of any width: words are never broken, columns give way in a stated order.

First cells take several lines, down to their longest word; a number of usual length stays on one,
and so does a name as long as a less needed column can go instead. Then columns are left out, and a
line below says which, and what shows them. Where not even the columns that stay have room, each row
becomes lines of its own.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.box import Box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

_LONGEST_NUMBER = 24
_LONGEST_NAME = 50


@dataclass(frozen=True)
class FittedColumn:
    """A column of such a table.

    Attributes:
        gives_way: Place in the order in which columns are left out, from 1; None always stays.
        is_name: Whether its cells stay on one line while a column can go that is not needed.
        is_needed: Whether names are rather broken than that it goes.
    """

    title: str
    justify: Literal["left", "right"] = "left"
    gives_way: int | None = None
    is_name: bool = False
    is_needed: bool = False


class FittedTable:
    """Takes rows as rich's own table does, and fits them into the console's width.

    Args:
        elsewhere: What else shows a column that was left out, such as "--json"; "" for nothing.
        box: Lines between rows, as rich has them.
        gap: Blank cells beside each column.
    """

    def __init__(
        self,
        columns: Sequence[FittedColumn],
        *,
        elsewhere: str = "",
        box: Box | None = None,
        gap: tuple[int, int] = (0, 3),
    ) -> None:
        self._columns = columns
        self._rows: list[list[Text]] = []
        self._elsewhere = elsewhere
        self._box = box
        self._gap = gap
        self.show_header = True

    def add_row(self, *cells: str | Text) -> None:
        """Add a row. A plain text is markup, as rich's tables take it."""
        self._rows.append(
            [
                Text.from_markup(cell, emoji=False) if isinstance(cell, str) else cell
                for cell in cells
            ]
        )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table, then a line on the columns that were left out."""
        places = self._that_fit(options.max_width)
        if places is None:
            yield from self._as_lines()
            return
        yield self._table(places, self._widths(places, options.max_width))
        if left_out := [c.title for n, c in enumerate(self._columns) if n not in places]:
            shows = f"{self._elsewhere} or a" if self._elsewhere else "A"
            pronoun = "it" if len(left_out) == 1 else "them"
            names = ", ".join(left_out)
            yield Text(
                f"Left out at this width: {names}. {shows} wider terminal shows {pronoun}.", "dim"
            )

    def _table(self, places: Sequence[int], widths: Sequence[int]) -> Table:
        """Return the table of the columns that fit."""
        padding = (0, self._gap[1], 0, self._gap[0])
        table = Table(box=self._box, pad_edge=False, padding=padding, show_header=self.show_header)
        for place, width in zip(places, widths, strict=True):
            column = self._columns[place]
            title = Text(column.title)
            table.add_column(title, justify=column.justify, width=width, overflow="fold")
        for row in self._rows:
            table.add_row(*(row[place] for place in places))
        return table

    def _that_fit(self, room: int) -> list[int] | None:
        """Return the columns that fit at their least width, or None if no more can go."""
        going = [
            place
            for _, place in sorted(
                (column.gives_way, place)
                for place, column in enumerate(self._columns)
                if column.gives_way is not None
            )
        ]
        places = list(range(len(self._columns)))
        while self._breaks_names(places, room) and going and not self._columns[going[0]].is_needed:
            places.remove(going.pop(0))
        while self._width_of(places, self._least) > room:
            if not going:
                return None
            places.remove(going.pop(0))
        return places

    def _breaks_names(self, places: Sequence[int], room: int) -> bool:
        return self._width_of(places, self._least_of_whole_names) > room

    def _widths(self, places: Sequence[int], room: int) -> list[int]:
        """Return the width of each column; the widest shrinks first."""
        is_broken = self._breaks_names(places, room)
        least_of = self._least if is_broken else self._least_of_whole_names
        least = [least_of(place) for place in places]
        widths = [
            max(_longest_line(text.plain for text in self._texts(place)), low)
            for place, low in zip(places, least, strict=True)
        ]
        while sum(widths) + self._width_of_gaps(places) > room:
            loose = [place for place, width in enumerate(widths) if width > least[place]]
            widths[max(loose, key=lambda place: widths[place])] -= 1
        return widths

    def _width_of(self, places: Sequence[int], least: Callable[[int], int]) -> int:
        """Return the least width of a table of some columns."""
        return self._width_of_gaps(places) + sum(map(least, places))

    def _width_of_gaps(self, places: Sequence[int]) -> int:
        """Return the width of gaps and lines."""
        lines = len(places) + 1 if self._box else 0
        return sum(self._gap) * len(places) + lines

    def _least(self, place: int) -> int:
        """Return the least width of a column."""
        is_number = self._columns[place].justify == "right"
        least = _longest_word(self._columns[place].title)
        for row in self._rows:
            text = row[place].plain
            is_whole = is_number and cell_len(text) <= _LONGEST_NUMBER
            least = max(least, _longest_line([text]) if is_whole else _longest_word(text))
        return max(least, 1)

    def _least_of_whole_names(self, place: int) -> int:
        """Return the least width of a column, that of a name with each name on one line."""
        if not self._columns[place].is_name:
            return self._least(place)
        longest = _longest_line(row[place].plain for row in self._rows)
        return max(self._least(place), min(longest, _LONGEST_NAME))

    def _texts(self, place: int) -> Iterable[Text]:
        yield Text(self._columns[place].title)
        for row in self._rows:
            yield row[place]

    def _as_lines(self) -> Iterable[Text]:
        for row in self._rows:
            for column, cell in zip(self._columns, row, strict=True):
                if cell.plain:
                    yield Text(f"{column.title}: " * bool(column.title)) + cell
            yield Text()


def from_the_right(
    titles: Sequence[str], first: Collection[int] = (), last: Collection[int] = ()
) -> list[int | None]:
    """Return the usual order: some columns first, then the last ones; the first two always stay.

    Args:
        titles: Titles of all columns.
        first: Places of those that are left out before the others.
        last: Places of those that are left out after all others, the right one at the very end.
    """

    def turn(place: int) -> tuple[int, int]:
        return (2, place) if place in last else (int(place not in first), -place)

    places = sorted(range(2, len(titles)), key=turn)
    return [places.index(place) + 1 if place > 1 else None for place in range(len(titles))]


def _longest_line(texts: Iterable[str]) -> int:
    return max((cell_len(line) for text in texts for line in text.splitlines()), default=0)


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)
