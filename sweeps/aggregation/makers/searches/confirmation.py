"""The best arms of a search on fresh seeds."""

from search_spaces.tables import ConfirmationTable
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.tables.confirmation.table import confirmation_table


def make_confirmation(declared: ConfirmationTable, results: Results) -> Section:
    """Return the table.

    Raises:
        BadInput: If the sweep is no search.
    """
    table = confirmation_table(
        results.manifest, results.records, declared.name, results.predictions
    )
    return Section(declared.name, declared.kind, tables=(table,))
