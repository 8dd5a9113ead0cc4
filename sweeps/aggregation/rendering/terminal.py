"""Tables for a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from sweeps.aggregation.rendering.fitted_table import FittedColumn, FittedTable, from_the_right
from sweeps.aggregation.rendering.table import Table, shown
from sweeps.aggregation.rendering.table_parts import table_parts
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
    head = [Text(one_line(text), style="bold") for text in (table.warning, table.title) if text]
    if table.lead:
        head.append(Text(one_line(table.lead)))
    elsewhere = elsewhere or f"{table.name}.md"
    grid = _WrappedTable(table, elsewhere) if table.groups else _fitted(table, elsewhere)
    notes = (f"({n}) {one_line(note)}" for n, note in enumerate(table.notes_in_short, start=1))
    return Group(*head, grid, *(Text(note, style="dim") for note in notes))


@dataclass(frozen=True)
class _WrappedTable:
    """A table of grouped columns: those for which a console has no room stand below the others."""

    table: Table
    elsewhere: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the parts of the table."""
        room = options.max_width
        widths = [*map(self._width, range(len(self.table.columns)))]
        widths[0] = min(widths[0], room // _MOST_OF_NAMES)

        def width_of(places: Sequence[int]) -> int:
            return sum(widths[place] + sum(_GAP) + 1 for place in places) + 1

        for part in table_parts(self.table, width_of, room):
            yield _fitted(part, self.elsewhere)

    def _width(self, place: int) -> int:
        title = self.table.columns[place].title
        texts = (row[place].text for row in self.table.rows)
        return max(map(cell_len, (*title.split(), *texts)), default=0)


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
