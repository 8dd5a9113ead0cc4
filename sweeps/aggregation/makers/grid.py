"""A paper's grid with our figures in it."""

from dataclasses import replace

from search_spaces.tables import GridTable
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.tables.grid import grid_table


def make_grid(declared: GridTable, results: Results) -> Section:
    """Return the grid as readers see it; programs read one row a place of it."""
    seen, read = grid_table(results.manifest, results.records, declared)
    table = replace(seen, for_programs=read)
    return Section(declared.name, declared.kind, tables=(table,))
