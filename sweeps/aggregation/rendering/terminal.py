"""Tables for a terminal."""

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.text import Text

from sweeps.aggregation.rendering.fitted_table import FittedColumn, FittedTable, from_the_right
from sweeps.aggregation.rendering.table import Table, shown
from sweeps.records.plain_text import one_line


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
    grid = FittedTable(
        _columns(table), elsewhere=elsewhere or f"{table.name}.md", box=SIMPLE_HEAD, gap=(1, 1)
    )
    for row in table.rows:
        grid.add_row(*(Text(cell.text, style="bold" if cell.is_bold else "") for cell in row))
    notes = (f"({n}) {one_line(note)}" for n, note in enumerate(table.notes_in_short, start=1))
    return Group(*head, grid, *(Text(note, style="dim") for note in notes))


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
