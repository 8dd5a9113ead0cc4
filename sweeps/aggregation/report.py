"""A sweep's report: made as a value, then written as files, then kept with its parent run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sweeps.aggregation.makers.kinds import headlines, make
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.rendering.contents import Provenance, Report, Section
from sweeps.aggregation.rendering.renderers import RENDERERS, Renderer, render
from sweeps.aggregation.rendering.result_files import make_folder, write_result
from sweeps.aggregation.tables.cost import cost_table, mixtures
from sweeps.aggregation.tables.departures import departure_sentence
from sweeps.aggregation.tables.trials import trials_table
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import SLUG
from sweeps.tracking.store import RecordStore, RecordWriter

_RESERVED = ("cost", "trials")


def make_report(results: Results) -> Report:
    """Return a sweep's report as a value: nothing is rendered, drawn or written yet.

    Result sections hold only what trial keys decide; what trials took stands in one of its own.

    Raises:
        BadInput: If the name of a table is no slug, or the plan has nothing for a table.
        StoreUnreachable: If curves are asked for and the tracking store does not answer.
    """
    manifest, records = results.manifest, results.records
    _check_names(manifest)
    sections = tuple(make(declared, results) for declared in manifest.tables)
    cost = cost_table(manifest, records)
    return Report(
        provenance=_provenance(results),
        sections=sections,
        trials=Section("trials", "trials", data=(trials_table(manifest, records),)),
        costs=Section("cost", "cost", tables=(cost,), formats=("markdown", "csv")),
        shown=headlines(sections),
        mixtures=mixtures(manifest, records),
    )


def write_report(
    store: RecordStore,
    sweep: str,
    folder: Path = Path("reports"),
    renderers: Mapping[str, Renderer] = RENDERERS,
) -> Report:
    """Rebuild a sweep's tables and figures from manifest and records, under `folder/<sweep>/`.

    Each file appears whole or not at all; older ones are replaced.

    Args:
        store: Where manifest and records are.
        sweep: Its name.
        folder: Where the sweep's own folder is made.
        renderers: Name of a format -> its renderer.

    Returns:
        The report with the paths of its files.

    Raises:
        BadInput: If there is no such sweep, a name is no slug, or the folder cannot be written.
        StoreUnreachable: If the tracking store does not answer.
    """
    manifest = store.manifest(sweep)
    records = store.records(manifest.cell_keys().values())
    report = make_report(Results(manifest, records, store.histories))
    files = list(render(report, renderers))
    _check_files(manifest, [name for name, _ in files])
    target = make_folder(folder, manifest.sweep)
    for name, content in files:
        write_result(target / name, content)
    return replace(report, paths=tuple(target / name for name, _ in files))


def publish_report(records: RecordWriter, sweep_id: str, report: Report) -> None:
    """Add the report's files to the sweep's own record.

    The only function of this package that writes to the tracking store.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    records.publish_files(sweep_id, report.paths)


def _provenance(results: Results) -> Provenance:
    manifest = results.manifest
    keys = tuple(dict.fromkeys(cell.trial_key for cell in manifest.cells))
    return Provenance(
        sweep=manifest.sweep,
        description=manifest.description,
        departures=departure_sentence(manifest),
        trial_keys=keys,
        num_records=sum(key in results.records for key in keys),
    )


def _check_files(manifest: Manifest, names: Sequence[str]) -> None:
    """Refuse two files of one name, which names that tables derive from their own can give."""
    counts = Counter(names)
    if twice := next((name for name in names if counts[name] > 1), None):
        raise BadInput(
            f"Two tables of sweep '{manifest.sweep}' would be written to '{twice}': rename one."
        )


def _check_names(manifest: Manifest) -> None:
    """Hold every name that becomes a path against the slug once more, here where it does."""
    names = [table.name for table in manifest.tables]
    counts = Counter(names)
    for name in (manifest.sweep, *names):
        if not SLUG.fullmatch(name):
            raise BadInput(f"'{name}' cannot be a file's name: it must match {SLUG.pattern}.")
    for name in names:
        if name in _RESERVED or counts[name] > 1:
            raise BadInput(
                f"Two tables of sweep '{manifest.sweep}' would be written to '{name}': "
                f"each needs a name of its own, other than {' and '.join(_RESERVED)}."
            )
    if not names:
        raise BadInput(f"Sweep '{manifest.sweep}' declares no table.")
