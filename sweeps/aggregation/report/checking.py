"""Whether the files of a report still follow from the records."""

from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from sweeps.aggregation.paper.making import style_of
from sweeps.aggregation.rendering.renderers import RENDERERS
from sweeps.aggregation.rendering.result_files import refuse_leading_out
from sweeps.aggregation.report.writing import ReportOptions, report_files
from sweeps.records.errors import BadInput
from sweeps.storage.regular_files import read_regular
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore


@dataclass(frozen=True)
class CheckedReport:
    """What was found of a report's files.

    Attributes:
        sweep: Whose report.
        folder: Where its files are, or should be.
        num_files: How many the report has.
        stale: Names of those that hold something else than follows from the records.
        missing: Names of those that are not there.
        others: Names of files that stand there and are none of the report's.
        left_out: A sentence for each declared table that could not be made here.
    """

    sweep: str
    folder: Path
    num_files: int
    stale: tuple[str, ...]
    missing: tuple[str, ...]
    others: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 where all files follow from the records, else 1."""
        return int(bool(self.stale or self.missing))


def check_report(
    sweep: str,
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
    **options: Unpack[ReportOptions],
) -> CheckedReport:
    """Make a sweep's report anew and compare it with its files. Nothing is written.

    Files in its folder that are none of the report's are named, and not looked at.

    Args:
        sweep: As of `report`, like all others.
        tracking_uri: Where records are, or the store.
        storage: The storage folder.
        **options: See `ReportOptions`.

    Raises:
        BadInput: If there is no such sweep or style, or a table or a file cannot be made.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_to_read(tracking_uri, storage)
    reports = Path(options.get("reports", "reports"))
    style = style_of(reports / sweep, options.get("style"))
    renderers = {**RENDERERS, **(options.get("renderers") or {})}
    made, files = report_files(store, sweep, renderers, options.get("tables", ()), style)
    folder = reports / made.provenance.sweep
    refuse_leading_out(folder, reports)
    found = {name: _content(folder / name, content) for name, content in files}
    return CheckedReport(
        sweep=made.provenance.sweep,
        folder=folder,
        num_files=len(files),
        stale=tuple(name for name, content in files if found[name] not in {None, content}),
        missing=tuple(name for name, _ in files if found[name] is None),
        others=tuple(sorted(_names(folder) - {name for name, _ in files})),
        left_out=made.left_out,
    )


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def _content(path: Path, expected: bytes) -> bytes | None:
    """Return what a file holds, None where there is none; of what is no such file nothing."""
    try:
        return read_regular(path, most_bytes=len(expected))
    except FileNotFoundError:
        return None
    except (BadInput, OSError):  # longer, a link, a folder, or not ours to read
        return b""
