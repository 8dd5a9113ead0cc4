"""What a report is made from, read from the store."""

from functools import partial

from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.results.predictions import read_predictions
from sweeps.tracking.store import RecordStore


def read_results(store: RecordStore, sweep: str) -> Results:
    """Return a sweep's manifest and records, with ways to ask for curves and predictions.

    Raises:
        BadInput: If there is no such sweep.
        StoreUnreachable: If the tracking store does not answer.
    """
    manifest = store.manifest(sweep)
    records = store.records(manifest.cell_keys().values())
    return Results(manifest, records, store.histories, partial(read_predictions, store))
