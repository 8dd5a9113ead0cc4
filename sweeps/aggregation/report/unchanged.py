"""A report that stands: what it was made from is as it was, and so are its files.

To make one of 10,000 trials takes a quarter of a minute. What a terminal shows of it is kept in the
user's cache, with what tells whether it may have changed; that is derived, and may be deleted.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TypedDict, Unpack

from pydantic import BaseModel, ConfigDict, ValidationError

from capsmodel.whole_file import write_whole
from search_spaces.tables import OwnTable
from sweeps.aggregation.paper.making import Style, style_of
from sweeps.aggregation.rendering.contents import Report
from sweeps.aggregation.rendering.result_files import refuse_leading_out
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.report.writing import report, why_not_published
from sweeps.records.errors import BadInput
from sweeps.storage.file_state import state_of
from sweeps.storage.locations import user_cache
from sweeps.storage.regular_files import open_regular, opened_folder, read_descriptor
from sweeps.tracking.embedded_state import embedded_state
from sweeps.tracking.opening import open_store

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


class ShownOptions(TypedDict):
    """How a report is written: a part of `ReportOptions`."""

    tables: Sequence[type[OwnTable]]
    style: Style | None


class _Kept(BaseModel):
    """What is kept of a report: a state of what it was made from, and its files' digests."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    made_from: str
    files: dict[str, str]
    shown: tuple[Table, ...]
    mixtures: tuple[str, ...]
    left_out: tuple[str, ...]


def report_to_show(
    sweep: str,
    tracking_uri: str | None,
    storage: str | None,
    **options: Unpack[ShownOptions],
) -> ShownReport:
    """Rebuild a sweep's report as `report` does, unless it stands as it would be made.

    That is told of embedded stores alone, and of sweeps without tables of the user's own: whether
    the code of these would make the same is not known.

    Args:
        sweep: As of `report`, like all others.
        tracking_uri: Where records are.
        storage: The storage folder.
        **options: Own tables, and the style.

    Raises:
        BadInput: If there is no such sweep, or a table or a file cannot be made.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_store(tracking_uri, storage)
    folder, style = _REPORTS / sweep, options["style"]
    place = _place(store.address, folder)

    def made_from() -> str:
        """Return a digest of all that decides the report, "" where it cannot be told."""
        known = not options["tables"] and embedded_state(tracking_uri, storage)
        code = state_of((_CODE / name for name in _OURS), {"__pycache__"})
        told = (known, code, style_of(folder, style), *map(version, _LIBRARIES))
        return _digest(*map(str, told)) if known and code else ""

    before = made_from()
    if before and (kept := _kept(place, before)) and _stands(folder, kept.files):
        paths = tuple(folder / name for name in kept.files)
        found = ShownReport(kept.shown, kept.mixtures, kept.left_out, paths, is_new=False)
        return replace(found, left_out=found.left_out + why_not_published(store, sweep, found))
    made = report(sweep, store, **options)
    if before and before == made_from():
        _keep(place, before, made)
    return ShownReport(made.shown, made.mixtures, made.left_out, made.paths, is_new=True)


def _place(address: str, folder: Path) -> Path | None:
    """Return where something is kept of a report, None for a user without a home."""
    with suppress(RuntimeError):
        return user_cache() / "reports" / f"{_digest(address, str(folder.resolve()))}.json"
    return None


def _kept(place: Path | None, made_from: str) -> _Kept | None:
    """Return what is kept of a report that was made from just this."""
    with suppress(OSError, BadInput, ValidationError, AssertionError):
        if place:
            with opened_folder(place.parent) as folder:
                content = read_descriptor(open_regular(place, folder=folder), place)
            kept = _Kept.model_validate_json(content)
            return kept if kept.made_from == made_from else None
    return None


def _stands(folder: Path, files: Mapping[str, str]) -> bool:
    """Return whether a report's files are all there, and as they were written.

    Raises:
        BadInput: If a link leads the folder elsewhere.
    """
    refuse_leading_out(folder, _REPORTS)
    try:
        return all(_content(folder / name) == digest for name, digest in files.items())
    except (OSError, BadInput):
        return False


def _content(path: Path) -> str:
    with os.fdopen(open_regular(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _keep(place: Path | None, made_from: str, made: Report) -> None:
    """Keep what a terminal is shown of a report. Where that cannot be, nothing is."""
    with suppress(OSError, BadInput):
        if place:
            files = {path.name: _content(path) for path in made.paths}
            kept = _Kept(
                made_from=made_from,
                files=files,
                shown=made.shown,
                mixtures=made.mixtures,
                left_out=made.left_out,
            )
            place.parent.mkdir(parents=True, exist_ok=True)
            with opened_folder(place.parent):
                write_whole(place, kept.model_dump_json().encode())


def _digest(*told: str) -> str:
    return hashlib.sha256("\0".join(told).encode()).hexdigest()
