"""A sweep's report: tables and figures as files, and as artifacts of its record."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sweeps.aggregation.makers import Made, make
from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.markdown import to_markdown
from sweeps.aggregation.rendering.result_files import make_folder, write_result
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.tables.cost import cost_table, mixtures
from sweeps.aggregation.tables.trials import trials_csv
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import SLUG, TrialRecord
from sweeps.tracking.store import RecordStore, RecordWriter

_RESERVED = ("cost", "trials")
_ROWS_SHOWN = 5


@dataclass(frozen=True)
class Report:
    """What was written.

    Attributes:
        paths: All files, in the order in which they were written.
        tables: Those that the sweep declares, in its order.
        shown: What a terminal is shown of them: the first one; of a search how its best arms were
            confirmed, and the settings that matter most.
        cost: What its trials took.
        mixtures: What the sweep mixes that costs hang on, such as devices; usually nothing.
    """

    paths: tuple[Path, ...]
    tables: tuple[Table, ...]
    shown: tuple[Table, ...]
    cost: Table
    mixtures: tuple[str, ...] = ()

    @property
    def table(self) -> Table:
        """The first table, that of costs where the sweep declares figures only."""
        return (*self.tables, self.cost)[0]


def write_report(store: RecordStore, sweep: str, folder: Path = Path("reports")) -> Report:
    """Rebuild a sweep's tables and figures from manifest and records, under `folder/<sweep>/`.

    Result files hold only what trial keys decide; what trials took stands in `cost.*`. Each file
    appears whole or not at all; older ones are replaced.

    Raises:
        BadInput: If there is no such sweep, a name is no slug, or the folder cannot be written.
        StoreUnreachable: If the tracking store does not answer.
    """
    manifest = store.manifest(sweep)
    records = store.records(manifest.cell_keys().values())
    _check_names(manifest)
    made = [make(declared, manifest, records, store) for declared in manifest.tables]
    cost = cost_table(manifest, records)
    files = list(_files(manifest, records, made, cost))
    _check_files(manifest, [name for name, _ in files])
    target = make_folder(folder, manifest.sweep)
    for name, content in files:
        write_result(target / name, content)
    return Report(
        paths=tuple(target / name for name, _ in files),
        tables=tuple(table for one in made for table in one.tables),
        shown=tuple(_shown(manifest, made)),
        cost=cost,
        mixtures=mixtures(manifest, records),
    )


def publish_report(records: RecordWriter, sweep_id: str, report: Report) -> None:
    """Add the report's files to the sweep's own record.

    The only function of this package that writes to the tracking store.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    records.publish_files(sweep_id, report.paths)


def _files(
    manifest: Manifest, records: Mapping[str, TrialRecord], made: Iterable[Made], cost: Table
) -> Iterator[tuple[str, bytes]]:
    for one in made:
        yield from one.files()
    yield "trials.csv", trials_csv(manifest, records).encode()
    yield "cost.md", to_markdown(cost).encode()
    yield "cost.csv", to_csv(cost).encode()


def _shown(manifest: Manifest, made: Sequence[Made]) -> Iterator[Table]:
    """Yield what a terminal is shown."""
    first = {one.declared.kind: one.tables[0] for one in reversed(made) if one.tables}
    if manifest.search is None:
        yield from [table for one in made for table in one.tables][:1]
        return
    if confirmation := first.get("confirmation"):
        yield confirmation
    if sensitivity := first.get("sensitivity"):
        yield _short(sensitivity)


def _short(table: Table) -> Table:
    """Return the first rows of a table, with one note that says where the rest is."""
    more = max(0, len(table.rows) - _ROWS_SHOWN)
    rest = f", and {more} more setting{'s' * (more > 1)}" if more else ""
    note = f"How to read it{rest}: see {table.name}.md."
    return replace(table, rows=table.rows[:_ROWS_SHOWN], notes=(note,))


def _check_files(manifest: Manifest, names: Sequence[str]) -> None:
    """Refuse two files of one name, which names that tables derive from their own can give."""
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadInput(
            f"Two tables of sweep '{manifest.sweep}' would be written to '{twice}': rename one."
        )


def _check_names(manifest: Manifest) -> None:
    """Hold every name that becomes a path against the slug once more, here where it does."""
    names = [table.name for table in manifest.tables]
    for name in (manifest.sweep, *names):
        if not SLUG.fullmatch(name):
            raise BadInput(f"'{name}' cannot be a file's name: it must match {SLUG.pattern}.")
    for name in names:
        if name in _RESERVED or names.count(name) > 1:
            raise BadInput(
                f"Two tables of sweep '{manifest.sweep}' would be written to '{name}': "
                f"each needs a name of its own, other than {' and '.join(_RESERVED)}."
            )
    if not names:
        raise BadInput(f"Sweep '{manifest.sweep}' declares no table.")
