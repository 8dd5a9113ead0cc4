"""How much each searched setting matters."""

from dataclasses import replace

from search_spaces.tables import SensitivityTable
from sweeps.aggregation.figures.sensitivity_figures import sensitivity_figures
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.sensitivity.sensitivity import sensitivity
from sweeps.aggregation.tables.departures import with_departures
from sweeps.aggregation.tables.sensitivity.table import sensitivity_tables

_MOST_ROWS = 10
_FIRST = ("Setting", "Importance (%)", "In the best trial", "Best mean at")
_REASONS = ("No importance is given", "Counted:", "After the first")


def make_sensitivity(declared: SensitivityTable, results: Results) -> Section:
    """Return the tables by setting and by value, with the figures of the search.

    Raises:
        BadInput: If the sweep is no search.
        StoreUnreachable: If curves are asked for and the tracking store does not answer.
    """
    weighed = sensitivity(results.manifest, results.records, results.histories)
    tables = sensitivity_tables(weighed, declared.name)
    return Section(
        name=declared.name,
        kind=declared.kind,
        tables=tuple(with_departures(results.manifest, table) for table in tables),
        figures=sensitivity_figures(weighed, declared.name),
    )


def sensitivity_headline(table: Table) -> Table:
    """Return what a terminal is shown: importance and best values, and why there is no more.

    Columns without anything in them are left out.
    """
    kept = [
        place
        for place, column in enumerate(table.columns)
        if column.title in _FIRST and any(row[place].text for row in table.rows)
    ]
    rows = tuple(tuple(row[place] for place in kept) for row in table.rows[:_MOST_ROWS])
    notes = [note for note in table.notes if note.startswith(_REASONS)]
    more = len(table.rows) - len(rows)
    rest = f", and {more} more setting{'s' * (more > 1)}" if more > 0 else ""
    notes.append(f"How to read it{rest}: see {table.name}.md.")
    columns = tuple(table.columns[place] for place in kept)
    return replace(table, columns=columns, rows=rows, notes=tuple(notes))
