"""Tables for a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from sweeps.aggregation.rendering.fitted_table import FittedColumn, FittedTable, from_the_right
from sweeps.aggregation.rendering.table import Table, shown
from sweeps.records.plain_text import one_line

_GAP = (1, 1)
_MOST_OF_NAMES = 3  # part of the width


def to_rich(table: Table, elsewhere: str = "") -> RenderableType:
    """Return what a rich console prints. Markup in texts is printed, not interpreted.

    Args:
        table: A report's table, or a value.
        elsewhere: What shows columns that a narrow terminal has no room for; by default its file.
    """
    table = shown(table)
    head = [Text(one_line(line), style="bold") for line in table.title.splitlines()]
    if table.lead:
        head.append(Text(one_line(table.lead)))
    elsewhere = elsewhere or f"{table.name}.md"
    grid = _WrappedTable(table, elsewhere) if table.groups else _fitted(table, elsewhere)
    notes = (f"({n}) {one_line(note)}" for n, note in enumerate(table.notes_in_short, start=1))
    return Group(*head, grid, *(Text(note, style="dim") for note in notes))


@dataclass(frozen=True)
class _WrappedTable:
    """A table of grouped columns: those for which a console has no room stand in lines below."""

    table: Table
    elsewhere: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table in as many parts as it takes, each with the names of its rows."""
        for places in self._parts(options.max_width):
            columns = tuple(self.table.columns[place] for place in places)
            rows = [tuple(row[place] for place in places) for row in self.table.rows]
            rows = tuple(row for row in rows if any(cell.text for cell in row[1:]))
            yield _fitted(replace(self.table, columns=columns, rows=rows), self.elsewhere)

    def _parts(self, room: int) -> list[list[int]]:
        """Return the places of each part. A group that has room in one part is not divided."""
        widths = [*map(self._width, range(len(self.table.columns)))]
        widths[0] = min(widths[0], room // _MOST_OF_NAMES)
        parts = [[0]]
        for _, run in groupby(range(1, len(widths)), lambda place: self.table.columns[place].group):
            group = [*run]
            is_whole = _width_of(widths, [0, *group]) <= room
            if is_whole and _width_of(widths, [*parts[-1], *group]) > room:
                parts.append([0])
            for place in group:
                if len(parts[-1]) > 1 and _width_of(widths, [*parts[-1], place]) > room:
                    parts.append([0])
                parts[-1].append(place)
        return [part for part in parts if len(part) > 1]

    def _width(self, place: int) -> int:
        title = self.table.columns[place].title
        texts = (row[place].text for row in self.table.rows)
        return max(map(cell_len, (*title.split(), *texts)), default=0)


def _width_of(widths: Sequence[int], places: Sequence[int]) -> int:
    return sum(widths[place] + sum(_GAP) + 1 for place in places) + 1


def _fitted(table: Table, elsewhere: str) -> FittedTable:
    grid = FittedTable(_columns(table), elsewhere=elsewhere, box=SIMPLE_HEAD, gap=_GAP)
    for row in table.rows:
        grid.add_row(*(Text(cell.text, style="bold" if cell.is_bold else "") for cell in row))
    return grid


def _columns(table: Table) -> list[FittedColumn]:
    """Return the columns. A narrow terminal leaves optional ones out first, answers last.

    Answers and the two columns behind the name of an arm are needed more than its name whole.
    """
    titles = [column.title for column in table.columns]
    last = [place for place, column in enumerate(table.columns) if column.is_answer]
    optional = [place for place, column in enumerate(table.columns) if column.hide_if_empty]
    order = from_the_right(titles, optional, last)
    names = [place for place, column in enumerate(table.columns) if column.is_name]
    needed = {*last, *(name + behind for name in names for behind in (1, 2))}
    return [
        FittedColumn(
            column.title,
            column.align,
            order[place],
            is_name=place in names,
            is_needed=place in needed,
        )
        for place, column in enumerate(table.columns)
    ]
