"""A sweep's report as files and as artifacts of its run, and the check of these files."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from search_spaces.tables import CustomTable
from sweeps.aggregation.paper.style import Style, style_of
from sweeps.aggregation.rendering.contents import Report
from sweeps.aggregation.rendering.renderers import (
    FIGURE_OF_PAPER,
    RENDERERS,
    Renderer,
    render,
)
from sweeps.aggregation.rendering.result_files import write_results
from sweeps.aggregation.report.drawn_figures import DrawnFigures
from sweeps.aggregation.report.making import make_report
from sweeps.aggregation.report.making_across import make_report_across
from sweeps.aggregation.results.across_results import read_across
from sweeps.aggregation.results.data_set_sweeps import sweeps_by_data_set
from sweeps.aggregation.results.sweep_results import read_results
from sweeps.records.errors import BadInput, StoreUnreachable
from sweeps.storage.folder import Folder
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore, ReportPublisher


@dataclass(frozen=True)
class CheckedReport:
    """How the files of a report compare with the records.

    Attributes:
        sweep: Whose report.
        folder: Where its files are, or should be.
        num_files: How many the report has.
        stale: Names of those that differ from what the records give.
        missing: Names of those that do not exist.
        others: Names of other files in its folder.
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
    *,
    reports: str | Path = "reports",
    tables: Sequence[type[CustomTable]] = (),
    renderers: Mapping[str, Renderer] | None = None,
    style: Style | None = None,
) -> CheckedReport:
    """Make a sweep's report anew and compare it with its files. Nothing is written.

    Other files in its folder are named, and not read.

    Args:
        sweep: As in `report`, like all other arguments.
        tracking_uri: Where records are, or the store.
        storage: The storage folder.
        reports: Where the sweep's own folder is.
        tables: Classes of the user's own kinds of tables.
        renderers: Name of a format -> its renderer.
        style: None for that of the report that exists.

    Raises:
        BadInput: If there is no such sweep or style, or a table or a file cannot be made.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_to_read(tracking_uri, storage)
    made, files = report_files(
        store,
        sweep,
        renderers={**RENDERERS, **(renderers or {})},
        tables=tables,
        style=style_of(Path(reports) / sweep, style),
    )
    folder = Folder(Path(reports), made.provenance.sweep)
    folder.check()
    contents = {name: _content(folder, name, content) for name, content in files}
    return CheckedReport(
        sweep=made.provenance.sweep,
        folder=folder.path,
        num_files=len(files),
        stale=tuple(name for name, content in files if contents[name] not in {None, content}),
        missing=tuple(name for name, _ in files if contents[name] is None),
        others=tuple(sorted({*folder.names()} - {name for name, _ in files})),
        left_out=made.left_out,
    )


def report_files(
    store: RecordStore,
    sweep: str,
    *,
    renderers: Mapping[str, Renderer] = RENDERERS,
    tables: Sequence[type[CustomTable]] = (),
    style: Style = "default",
    drawn: DrawnFigures | None = None,
) -> tuple[Report, list[tuple[str, bytes]]]:
    """Return a sweep's report with the name and content of each of its files. Nothing is written.

    Args:
        store: As in `write_report`, like all other arguments.
        sweep: Its name.
        renderers: Name of a format -> its renderer.
        tables: As in `make_report`.
        style: As in `make_report`.
        drawn: Figures of an earlier report, which are not drawn again; None draws all.

    Raises:
        BadInput: If there is no such sweep, or a name is no slug.
        StoreUnreachable: If the tracking store does not answer.
    """
    if sweeps_by_data_set(store, sweep):
        report = make_report_across(read_across(store, sweep))
    else:
        report = make_report(read_results(store, sweep), tables, style)
    with drawn.reused(report) if drawn else nullcontext():
        files = list(render(report, renderers))
    _check_files(sweep, [name for name, _ in files])
    return report, files


def report(
    sweep: str,
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
    *,
    reports: str | Path = "reports",
    into: str | Path | None = None,
    tables: Sequence[type[CustomTable]] = (),
    renderers: Mapping[str, Renderer] | None = None,
    style: Style | None = None,
) -> Report:
    """Rebuild a sweep's report from its records, write its files and store them with its run.

    If the store cannot be written to, the files exist all the same, and the report says so.

    Args:
        sweep: The name of a launched sweep.
        tracking_uri: Where records are, or the store; by default `CAPSWEEP_TRACKING_URI` or in
            the storage.
        storage: The storage folder, by default `CAPSWEEP_STORAGE` or ./capsweep-store.
        reports: Where the sweep's own folder is made, by default ./reports.
        into: The folder of a paper, which gets tables, figures and numbers for LaTeX in place of a
            report.
        tables: Classes of the user's own kinds of tables. Tables of other such kinds are left
            out, which the report says.
        renderers: Name of a format -> its renderer, besides the package's or in their place.
        style: "paper" adds the arms as a paper prints them: `mean (sd)` and n. By default that of
            the report that exists.

    Raises:
        BadInput: If there is no such sweep, or a table or a file cannot be made.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_to_read(tracking_uri, storage)
    if into is not None:
        return write_paper(store, sweep, Path(into), tables=tables, style=style or "default")
    written = write_report(
        store,
        sweep,
        Path(reports),
        renderers={**RENDERERS, **(renderers or {})},
        tables=tables,
        style=style,
    )
    return replace(written, left_out=(*written.left_out, *why_not_published(store, sweep, written)))


def write_report(
    store: RecordStore,
    sweep: str,
    folder: Path = Path("reports"),
    *,
    renderers: Mapping[str, Renderer] = RENDERERS,
    tables: Sequence[type[CustomTable]] = (),
    style: Style | None = None,
    reuses_figures: bool = False,
) -> Report:
    """Rebuild a sweep's tables and figures from manifest and records, under `folder/<sweep>/`.

    Each file appears whole or not at all; older ones are replaced.

    Args:
        store: Where manifest and records are.
        sweep: Its name.
        folder: Where the sweep's own folder is made.
        renderers: Name of a format -> its renderer.
        tables: As in `make_report`.
        style: The same; None for that of the report that is there.
        reuses_figures: Whether figures that were drawn from the same inputs are not drawn again.

    Returns:
        The report with the paths of its files.

    Raises:
        BadInput: If there is no such sweep, a name is no slug, or the folder cannot be written.
        StoreUnreachable: If the tracking store does not answer.
    """
    chosen = style_of(folder / str(sweep), style)
    drawn = DrawnFigures(folder / str(sweep)) if reuses_figures and not tables else None
    report, files = report_files(
        store, sweep, renderers=renderers, tables=tables, style=chosen, drawn=drawn
    )
    return replace(report, paths=write_results(Folder(folder, report.provenance.sweep), files))


def write_paper(
    store: RecordStore,
    sweep: str,
    folder: Path,
    *,
    tables: Sequence[type[CustomTable]] = (),
    style: Style = "default",
) -> Report:
    """Write what a paper takes of a sweep into the paper's own folder: nothing else is written.

    Those are each table alone and each figure, with the sweep's name before theirs, the sweep's
    numbers and the style file of their macros.

    Args:
        store: As in `write_report`, like `sweep` and `tables`.
        sweep: Its name.
        folder: Where the paper is.
        tables: As in `make_report`.
        style: The same.

    Returns:
        The report with the paths of these files.

    Raises:
        BadInput: If there is no such sweep, a name is no slug, or the folder cannot be written.
        StoreUnreachable: If the tracking store does not answer.
    """
    renderers = {"latex-table": RENDERERS["latex-table"], "pdf": FIGURE_OF_PAPER}
    made, files = report_files(store, sweep, renderers=renderers, tables=tables, style=style)
    texts = {text.name for text in made.texts}
    named = {
        name if name in texts else f"{made.provenance.sweep}-{name}": content
        for name, content in files
        if not name.endswith(".md")
    }
    return replace(made, paths=write_results(Folder(folder), named.items()))


def why_not_published(store: RecordStore, sweep: str, report: Report) -> tuple[str, ...]:
    """Publish the report. If that fails, return the reason: the files are written already."""
    if sweeps_by_data_set(
        store, sweep
    ):  # which has no record: those of its data sets have their reports
        return ()
    try:
        publish_report(store.publisher(), store.sweep_id(sweep), report)
    except (StoreUnreachable, OSError) as error:  # of somebody else's store, which may be read-only
        return (f"The report is written, but not kept with the sweep's own record: {error}",)
    return ()


def publish_report(records: ReportPublisher, sweep_id: str, report: Report) -> None:
    """Add the report's files to the sweep's own record.

    The only function of this package that writes to the tracking store.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    records.publish_files(sweep_id, report.paths)


def _check_files(sweep: str, names: Sequence[str]) -> None:
    """Check that no two files share a name: tables derive further names from their own."""
    counts = Counter(names)
    if outside := next((name for name in names if Path(name).name != name), None):
        raise BadInput(f"'{outside}' cannot be a file's name: name the table by a word.")
    if twice := next((name for name in names if counts[name] > 1), None):
        raise BadInput(f"Two tables of sweep '{sweep}' would be written to '{twice}': rename one.")


def _content(folder: Folder, name: str, expected: bytes) -> bytes | None:
    """Return a file's content, None if it is missing, or b"" if it cannot be the report's."""
    try:
        return folder.read(name, most_bytes=len(expected))
    except FileNotFoundError:
        return None
    except (BadInput, OSError):  # longer, a link, a folder, or not ours to read
        return b""
