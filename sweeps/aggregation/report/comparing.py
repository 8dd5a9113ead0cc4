"""Two sweeps of one store set side by side, as files beside the first one's report."""

from dataclasses import dataclass
from pathlib import Path

from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.renderers import section_files
from sweeps.aggregation.rendering.result_files import make_folder, write_result
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.report.matched_arms import matched_arms
from sweeps.aggregation.report.side_by_side import side_by_side
from sweeps.aggregation.results.arms import ArmResults, arms_to_their_end
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import SLUG
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore


@dataclass(frozen=True)
class ComparedSweeps:
    """Two sweeps side by side.

    Attributes:
        table: A row an arm.
        paths: Its files.
    """

    table: Table
    paths: tuple[Path, ...]


def compare_sweeps(
    sweep: str,
    other: str,
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
    *,
    reports: str | Path = "reports",
) -> ComparedSweeps:
    """Set two sweeps side by side, in files `compare-<other>` in the first one's folder.

    Args:
        sweep: The name of a launched sweep.
        other: That of another one of the same store.
        tracking_uri: Where records are, or the store; by default as the command line finds it.
        storage: The storage folder.
        reports: Where the first sweep's own folder is made.

    Raises:
        BadInput: If there is no such sweep, both are the same, or a file cannot be written.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_to_read(tracking_uri, storage)
    first, second = store.manifest(sweep), store.manifest(other)
    _refuse(first, second)
    arms = [_arms(store, manifest) for manifest in (first, second)]
    table = side_by_side(first, second, list(matched_arms(arms[0], arms[1])))
    section = Section("compare", "compare", (table,), formats=("markdown", "csv", "latex"))
    files = list(section_files(section))
    target = make_folder(Path(reports), first.sweep)
    for name, content in files:
        write_result(target / name, content)
    return ComparedSweeps(table, tuple(target / name for name, _ in files))


def _arms(store: RecordStore, manifest: Manifest) -> tuple[ArmResults, ...]:
    """Return a sweep's arms; of a trial that its scheduler stopped it has no result."""
    keys = {cell.trial_key for cell in manifest.cells if cell.stopped is None}
    return arms_to_their_end(manifest, store.records(keys))


def _refuse(first: Manifest, second: Manifest) -> None:
    if first.sweep == second.sweep:
        raise BadInput(
            f"'{first.sweep}' would stand beside itself: give --compare the name of another sweep."
        )
    for manifest in (first, second):
        if not SLUG.fullmatch(manifest.sweep):
            raise BadInput(
                f"'{manifest.sweep}' cannot be a file's name: it must match {SLUG.pattern}."
            )
    name = f"compare-{second.sweep}"
    if any(table.name == name for table in first.tables):
        raise BadInput(
            f"'{first.sweep}' has a table '{name}' of its own, which would be written over: "
            f"compare the other way round, or rename it."
        )
