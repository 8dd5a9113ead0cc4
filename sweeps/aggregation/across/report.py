"""The report over all data sets of a sweep across several."""

from pathlib import Path

from sweeps.aggregation.rendering.contents import Report
from sweeps.tracking.store import RecordStore


def write_report_across(store: RecordStore, sweep: str, folder: Path = Path("reports")) -> Report:
    """Rebuild the tables and figures over all data sets, under `folder/<sweep>/`."""
    raise NotImplementedError
