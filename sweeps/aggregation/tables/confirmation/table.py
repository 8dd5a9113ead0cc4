"""The confirmation table: the best arms of a search on seeds that had no part in choosing them."""

from collections.abc import Mapping

from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.results.confirmed import confirmed_results
from sweeps.aggregation.results.judged import Predictions
from sweeps.aggregation.tables.confirmation.rows import columns, row
from sweeps.aggregation.tables.confirmation.words import confirmation_lead, confirmation_notes
from sweeps.aggregation.tables.departures import with_departures
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import TrialRecord


def confirmation_table(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    name: str = "confirmation",
    predictions: Mapping[str, Predictions] | None = None,
) -> Table:
    """Return one row a confirmed arm, in the search's order, on seeds that did not choose it.

    Its test errors are held against the base's, which stands last and without a rank. Before the
    best are chosen there are no rows, and the first note says how far the search is. Holds only
    what trial keys decide.

    Args:
        manifest: Of a search.
        records: By trial key; their order changes nothing.
        name: The table's name, as the manifest declares it.
        predictions: By trial key. Without them intervals are over seeds alone, and nothing is bold.

    Raises:
        BadInput: If the sweep is no search.
    """
    confirmed = confirmed_results(manifest, records, predictions)
    rows = enumerate(confirmed.rows(), start=1)
    table = Table(
        name=name,
        title=f"Confirmation of {manifest.sweep}: the best arms on fresh seeds",
        lead=confirmation_lead(confirmed, manifest),
        description=one_line(manifest.description),
        columns=columns(
            confirmed.metric,
            has_cost=bool(confirmed.results.search.cost),
            is_held_to_random=confirmed.random is not None,
        ),
        rows=tuple(row(rank, arm, confirmed) for rank, arm in rows),
        notes=tuple(confirmation_notes(confirmed, manifest)),
    )
    return with_departures(manifest, table)
