"""A report that stands: what it was made from is as it was, and so are its files.

To make one of 10,000 trials takes a quarter of a minute. What a terminal shows of it is kept in the
user's cache, with what tells whether it may have changed; that is derived, and may be deleted.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from search_spaces.tables import OwnTable
from sweeps.aggregation.paper.making import Style, style_of
from sweeps.aggregation.rendering.result_files import refuse_leading_out
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.report.kept_report import find_kept_report, keep_report
from sweeps.aggregation.report.writing import report, why_not_published
from sweeps.storage.file_state import state_of
from sweeps.tracking.embedded_state import embedded_state
from sweeps.tracking.opening import open_to_read

_CODE = Path(__file__).parents[3]
_OURS = ("capsmodel", "search_spaces", "sweeps")
_LIBRARIES = ("jinja2", "matplotlib", "numpy", "pandas", "scipy", "statsmodels")
_REPORTS = Path("reports")


@dataclass(frozen=True)
class ShownReport:
    """What a terminal shows of a report.

    Attributes:
        shown: See `Report`, as of all but the last.
        is_new: Whether it was made now, and not found as it was.
    """

    shown: tuple[Table, ...]
    mixtures: tuple[str, ...]
    left_out: tuple[str, ...]
    paths: tuple[Path, ...]
    is_new: bool


def report_to_show(
    sweep: str,
    tracking_uri: str | None,
    storage: str | None,
    *,
    tables: Sequence[type[OwnTable]],
    style: Style | None,
) -> ShownReport:
    """Rebuild a sweep's report as `report` does, unless it stands as it would be made.

    That is told of embedded stores alone, and of sweeps without tables of the user's own: whether
    the code of these would make the same is not known.

    Args:
        sweep: As of `report`, like all others.
        tracking_uri: Where records are.
        storage: The storage folder.
        tables: Classes of the user's own kinds of tables.
        style: None for that of the report that is there.

    Raises:
        BadInput: If there is no such sweep, or a table or a file cannot be made.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_to_read(tracking_uri, storage)
    folder = _REPORTS / sweep

    def made_from() -> str:
        """Return a digest of all that decides the report, "" where it cannot be told."""
        known = not tables and embedded_state(tracking_uri, storage)
        code = state_of((_CODE / name for name in _OURS), {"__pycache__"})
        told = (known, code, style_of(folder, style), *map(version, _LIBRARIES))
        return hashlib.sha256(repr(told).encode()).hexdigest() if known and code else ""

    before = made_from()
    if before and (kept := find_kept_report(store.address, folder, before)):
        refuse_leading_out(folder, _REPORTS)
        paths = tuple(folder / name for name in kept.files)
        found = ShownReport(kept.shown, kept.mixtures, kept.left_out, paths, is_new=False)
        return replace(found, left_out=found.left_out + why_not_published(store, sweep, found))
    made = report(sweep, store, tables=tables, style=style)
    if before and before == made_from():
        keep_report(store.address, folder, before, made)
    return ShownReport(made.shown, made.mixtures, made.left_out, made.paths, is_new=True)
