"""Tables for a terminal."""

import rich.box
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from sweeps.aggregation.rendering.table import Table, shown
from sweeps.records.plain_text import one_line

MOST_NOTES = 5


def to_rich(table: Table) -> RenderableType:
    """Return what a rich console prints. Texts stand as they are: markup in them is not obeyed."""
    table = shown(table)
    head = [Text(one_line(line), style="bold") for line in table.title.splitlines()]
    if table.lead:
        head.append(Text(one_line(table.lead)))
    grid = RichTable(box=rich.box.SIMPLE_HEAD, pad_edge=False)
    for column in table.columns:
        grid.add_column(Text(column.title), justify=column.align, overflow="fold")
    for row in table.rows:
        grid.add_row(*(Text(cell.text, style="bold" if cell.is_bold else "") for cell in row))
    return Group(*head, grid, *(Text(line, style="dim") for line in _numbered(table)))


def _numbered(table: Table) -> list[str]:
    """Return the first notes with their numbers, and where the others stand."""
    notes = [one_line(note) for note in table.notes]
    if len(notes) > MOST_NOTES:
        kept = notes[: MOST_NOTES - 1]
        notes = [*kept, f"{len(notes) - len(kept)} more notes: see {table.name}.md."]
    return [f"({number}) {note}" for number, note in enumerate(notes, start=1)]
