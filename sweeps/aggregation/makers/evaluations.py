"""What evaluations found, by arm."""

from search_spaces.tables import EvaluationsTable
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.tables.evaluations import evaluations_table


def make_evaluations(declared: EvaluationsTable, results: Results) -> Section:
    """Return the table."""
    table = evaluations_table(results.manifest, results.records, declared.name)
    return Section(declared.name, declared.kind, tables=(table,))
