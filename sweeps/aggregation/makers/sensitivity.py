"""How much each searched setting matters."""

from search_spaces.tables import SensitivityTable
from sweeps.aggregation.figures.sensitivity_figures import sensitivity_figures
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.sensitivity.sensitivity import sensitivity
from sweeps.aggregation.tables.departures import with_departures
from sweeps.aggregation.tables.sensitivity_table import sensitivity_tables


def make_sensitivity(declared: SensitivityTable, results: Results) -> Section:
    """Return the tables by setting and by value, with the figures of the search.

    Raises:
        BadInput: If the sweep is no search.
    """
    weighed = sensitivity(results.manifest, results.records)
    tables = sensitivity_tables(weighed, declared.name)
    return Section(
        name=declared.name,
        kind=declared.kind,
        tables=tuple(with_departures(results.manifest, table) for table in tables),
        figures=sensitivity_figures(weighed, declared.name),
    )
