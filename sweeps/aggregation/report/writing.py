"""A sweep's report as files, and as artifacts of its parent run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack

from search_spaces.tables import OwnTable
from sweeps.aggregation.paper.making import Style, style_of
from sweeps.aggregation.rendering.contents import Report
from sweeps.aggregation.rendering.renderers import RENDERERS, Renderer, render
from sweeps.aggregation.rendering.result_files import make_folder, write_result
from sweeps.aggregation.report.making import make_report
from sweeps.aggregation.report.reading import read_results
from sweeps.records.errors import BadInput, StoreUnreachable
from sweeps.records.manifest import Manifest
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore, ReportPublisher


class ReportOptions(TypedDict, total=False):
    """How a report is written.

    Attributes:
        reports: Where the sweep's own folder is made, by default ./reports.
        tables: Classes of the user's own kinds of tables. Those of other such kinds are left out,
            which the report says.
        renderers: Name of a format -> its renderer, besides the package's or in their place.
        style: "paper" adds the arms as a paper prints them: `mean ± sd (n)`. By default that of
            the report that is there.
    """

    reports: str | Path
    tables: Sequence[type[OwnTable]]
    renderers: Mapping[str, Renderer] | None
    style: Style | None


def report(
    sweep: str,
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
    **options: Unpack[ReportOptions],
) -> Report:
    """Rebuild a sweep's report from its manifest and records, as files and with its parent run.

    Where the store cannot be written to, the files are there and the report says so.

    Args:
        sweep: The name of a launched sweep.
        tracking_uri: Where records are, or the store; by default `CAPSWEEP_TRACKING_URI` or in
            the storage.
        storage: The storage folder, by default `CAPSWEEP_STORAGE` or ./capsweep-store.
        **options: See `ReportOptions`: where files go, own tables, formats, the style.

    Raises:
        BadInput: If there is no such sweep, or a table or a file cannot be made.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_to_read(tracking_uri, storage)
    chosen = {**RENDERERS, **(options.get("renderers") or {})}
    folder, own = Path(options.get("reports", "reports")), options.get("tables", ())
    written = write_report(store, sweep, folder, chosen, own, options.get("style"))
    return replace(written, left_out=(*written.left_out, *why_not_published(store, sweep, written)))


def write_report(
    store: RecordStore,
    sweep: str,
    folder: Path = Path("reports"),
    renderers: Mapping[str, Renderer] = RENDERERS,
    own: Sequence[type[OwnTable]] = (),
    style: Style | None = None,
) -> Report:
    """Rebuild a sweep's tables and figures from manifest and records, under `folder/<sweep>/`.

    Each file appears whole or not at all; older ones are replaced.

    Args:
        store: Where manifest and records are.
        sweep: Its name.
        folder: Where the sweep's own folder is made.
        renderers: Name of a format -> its renderer.
        own: As of `make_report`.
        style: The same; None for that of the report that is there.

    Returns:
        The report with the paths of its files.

    Raises:
        BadInput: If there is no such sweep, a name is no slug, or the folder cannot be written.
        StoreUnreachable: If the tracking store does not answer.
    """
    chosen = style_of(folder / str(sweep), style)
    report, files = report_files(store, sweep, renderers, own, chosen)
    target = make_folder(folder, report.provenance.sweep)
    for name, content in files:
        write_result(target / name, content)
    return replace(report, paths=tuple(target / name for name, _ in files))


def report_files(
    store: RecordStore,
    sweep: str,
    renderers: Mapping[str, Renderer] = RENDERERS,
    own: Sequence[type[OwnTable]] = (),
    style: Style = "default",
) -> tuple[Report, list[tuple[str, bytes]]]:
    """Return a sweep's report with the name and content of each of its files. Nothing is written.

    Args:
        store: As of `write_report`, like all others.
        sweep: Its name.
        renderers: Name of a format -> its renderer.
        own: As of `make_report`.
        style: As of `make_report`.

    Raises:
        BadInput: If there is no such sweep, or a name is no slug.
        StoreUnreachable: If the tracking store does not answer.
    """
    results = read_results(store, sweep)
    manifest = results.manifest
    report = make_report(results, own, style)
    files = list(render(report, renderers))
    _check_files(manifest, [name for name, _ in files])
    return report, files


def publish_report(records: ReportPublisher, sweep_id: str, report: Report) -> None:
    """Add the report's files to the sweep's own record.

    The only function of this package that writes to the tracking store.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    records.publish_files(sweep_id, report.paths)


def why_not_published(store: RecordStore, sweep: str, report: Report) -> tuple[str, ...]:
    """Publish the report, and return a sentence where that failed: nothing else has."""
    try:
        publish_report(store.publisher(), store.sweep_id(sweep), report)
    except (StoreUnreachable, OSError) as error:  # of somebody else's store, which may be read-only
        return (f"The report is written, but not kept with the sweep's own record: {error}",)
    return ()


def _check_files(manifest: Manifest, names: Sequence[str]) -> None:
    """Refuse two files of one name, which names that tables derive from their own can give."""
    counts = Counter(names)
    if outside := next((name for name in names if Path(name).name != name), None):
        raise BadInput(f"'{outside}' cannot be a file's name: name the table by a word.")
    if twice := next((name for name in names if counts[name] > 1), None):
        raise BadInput(
            f"Two tables of sweep '{manifest.sweep}' would be written to '{twice}': rename one."
        )
