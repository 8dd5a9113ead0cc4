"""The front of a search with two objectives."""

from functools import partial

from search_spaces.tables import FrontTable
from sweeps.aggregation.figures.front_figure import front_figure
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.rendering.contents import Figure, Section
from sweeps.aggregation.results.fronts.front_results import front_results
from sweeps.aggregation.tables.departures import with_departures
from sweeps.aggregation.tables.fronts.table import front_table


def make_front(declared: FrontTable, results: Results) -> Section:
    """Return the table and the figure.

    Raises:
        BadInput: If the sweep is no search with two objectives.
    """
    found = front_results(results.manifest, results.records, results.predictions)
    table = front_table(found, results.manifest, declared.name)
    return Section(
        name=declared.name,
        kind=declared.kind,
        tables=(with_departures(results.manifest, table),),
        figures=(Figure(declared.name, partial(front_figure, found)),),
    )
