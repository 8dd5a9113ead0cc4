"""Tables for a terminal."""

import rich.box
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from sweeps.aggregation.rendering.table import Table, shown
from sweeps.records.plain_text import one_line


def to_rich(table: Table) -> RenderableType:
    """Return what a rich console prints. Texts stand as they are: markup in them is not obeyed."""
    table = shown(table)
    head = [Text(one_line(table.title), style="bold")]
    if table.lead:
        head.append(Text(one_line(table.lead)))
    grid = RichTable(box=rich.box.SIMPLE_HEAD, pad_edge=False)
    for column in table.columns:
        grid.add_column(Text(column.title), justify=column.align, overflow="fold")
    for row in table.rows:
        grid.add_row(*(Text(cell.text, style="bold" if cell.is_bold else "") for cell in row))
    return Group(*head, grid, *(Text(one_line(note), style="dim") for note in table.notes))
