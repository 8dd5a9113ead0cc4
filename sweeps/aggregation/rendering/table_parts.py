"""Tables with more columns than there is room for, in parts that stand one below the other."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from sweeps.aggregation.rendering.table import Table


def table_parts(
    table: Table, width_of: Callable[[Sequence[int]], float], room: float
) -> list[Table]:
    """Return a table in as many parts as it takes, each with the names of its rows.

    Columns with a head in common stay in one part where that has room for them. Rows without a
    text in a part are left out of it.

    Args:
        table: Names of its rows stand in the first column.
        width_of: Width of a table of some columns, given their places.
        room: The greatest width.
    """
    parts = [[0]]
    for _, run in groupby(range(1, len(table.columns)), lambda place: table.columns[place].group):
        group = [*run]
        is_whole = width_of([0, *group]) <= room
        if is_whole and width_of([*parts[-1], *group]) > room:
            parts.append([0])
        for place in group:
            if len(parts[-1]) > 1 and width_of([*parts[-1], place]) > room:
                parts.append([0])
            parts[-1].append(place)
    return [_part(table, places) for places in parts if len(places) > 1]


def _part(table: Table, places: Sequence[int]) -> Table:
    rows = [tuple(row[place] for place in places) for row in table.rows]
    return replace(
        table,
        columns=tuple(table.columns[place] for place in places),
        rows=tuple(row for row in rows if any(cell.text for cell in row[1:])),
    )
