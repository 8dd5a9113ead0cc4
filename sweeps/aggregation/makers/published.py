"""A paper's own table with our figures in it."""

from search_spaces.tables import PublishedTable
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.tables.published import published_table


def make_published(declared: PublishedTable, results: Results) -> Section:
    """Return the table."""
    table = published_table(results.manifest, results.records, declared)
    return Section(declared.name, declared.kind, tables=(table,))
