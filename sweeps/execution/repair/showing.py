"""What people browse of a sweep, which a tracking store that was lost has lost too."""

from sweeps.aggregation.report import sum_up
from sweeps.records.errors import StoreRefused
from sweeps.records.manifest import Manifest
from sweeps.tracking.store import RecordStore


def show_again(store: RecordStore, manifest: Manifest) -> str:
    """Write what is shown of a sweep as its records are now.

    Args:
        store: Of the records; it holds the sweep.
        manifest: Of the sweep.

    Returns:
        Why some of it is not up to date, in one sentence; "" where all of it is.
    """
    writer = store.writer()
    found = writer.find_sweep(manifest.sweep)
    assert found is not None
    try:
        records = store.records(manifest.cell_keys().values())
        writer.show_sweep(found.record_id, sum_up(manifest, records))
    except StoreRefused as error:
        return f"What is shown of '{manifest.sweep}' is not up to date: {error}"
    return ""
