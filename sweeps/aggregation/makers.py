"""What a sweep declares to be for, made from its records: tables as values, figures as files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sweeps.aggregation.figures.ablation_figure import ablation_figure
from sweeps.aggregation.figures.curves import arm_curves, curves_csv, curves_figure, finished_trials
from sweeps.aggregation.figures.figure_style import ImageFormat
from sweeps.aggregation.figures.sensitivity_figures import sensitivity_figures
from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.latex import to_latex
from sweeps.aggregation.rendering.markdown import to_markdown
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.sensitivity.sensitivity import sensitivity
from sweeps.aggregation.tables.ablation import ablation_table
from sweeps.aggregation.tables.confirmation import confirmation_table
from sweeps.aggregation.tables.departures import with_departures
from sweeps.aggregation.tables.grid import grid_table
from sweeps.aggregation.tables.published import published_table
from sweeps.aggregation.tables.sensitivity_table import sensitivity_tables
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_tables import (
    AblationTable,
    ConfirmationTable,
    CurvesFigure,
    GridTable,
    ManifestTable,
    PublishedTable,
    SensitivityTable,
)
from sweeps.records.trial_record import TrialRecord
from sweeps.tracking.store import RecordStore

_FORMATS: tuple[ImageFormat, ...] = ("png", "svg")


@dataclass(frozen=True)
class Made:
    """One declared table or figure.

    Attributes:
        tables: In their order; none of a figure that stands alone.
        for_programs: Name of a table -> what its CSV holds, where that has other rows.
        others: Files besides those of the tables: name -> content.
    """

    declared: ManifestTable
    tables: tuple[Table, ...]
    others: dict[str, bytes]
    for_programs: Mapping[str, Table] = field(default_factory=dict[str, Table])

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield every file: its name and its content."""
        for table in self.tables:
            yield f"{table.name}.md", to_markdown(table).encode()
            yield f"{table.name}.csv", to_csv(self.for_programs.get(table.name, table)).encode()
            yield f"{table.name}.tex", to_latex(table).encode()
        yield from self.others.items()


def make(
    declared: ManifestTable,
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    store: RecordStore,
) -> Made:
    """Return a declared table or figure. Only curves ask the store, for their epochs.

    Raises:
        BadInput: If the sweep's plan has none such, or its manifest cannot make one.
        StoreUnreachable: If the tracking store does not answer.
    """
    match declared:
        case AblationTable():
            return _made_ablation(declared, manifest, records)
        case PublishedTable():
            return Made(declared, (published_table(manifest, records, declared),), {})
        case GridTable():
            seen, read = grid_table(manifest, records, declared)
            return Made(declared, (seen,), {}, {read.name: read})
        case ConfirmationTable():
            return Made(declared, (confirmation_table(manifest, records, declared.name),), {})
        case SensitivityTable():
            return _made_sensitivity(declared, manifest, records)
        case CurvesFigure():
            return _made_curves(declared, manifest, records, store)


def _made_ablation(
    declared: AblationTable, manifest: Manifest, records: Mapping[str, TrialRecord]
) -> Made:
    if manifest.search is not None:
        raise BadInput(
            f"Table '{declared.name}' compares arms with a baseline, and the search "
            f"'{manifest.sweep}' has none: declare a confirmation table instead."
        )
    table = ablation_table(manifest, records, declared.name)
    figures = {
        f"{declared.name}.{end}": ablation_figure(manifest, records, end) for end in _FORMATS
    }
    return Made(declared, (table,), figures)


def _made_sensitivity(
    declared: SensitivityTable, manifest: Manifest, records: Mapping[str, TrialRecord]
) -> Made:
    found = sensitivity(manifest, records)
    figures = {
        f"{stem}.{end}": content
        for end in _FORMATS
        for stem, content in sensitivity_figures(found, declared.name, end).items()
    }
    tables = sensitivity_tables(found, declared.name)
    return Made(declared, tuple(with_departures(manifest, table) for table in tables), figures)


def _made_curves(
    declared: CurvesFigure,
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    store: RecordStore,
) -> Made:
    histories = store.histories(finished_trials(manifest, records), declared.metric)
    curves = arm_curves(manifest, records, histories, declared.metric)
    files = {f"{declared.name}.csv": curves_csv(curves, manifest.metric(declared.metric)).encode()}
    for end in _FORMATS:
        files[f"{declared.name}.{end}"] = curves_figure(manifest, curves, declared, end)
    return Made(declared, (), files)
