"""The cells of one sweep or of all, each with its row of a frame, as far as a filter wants them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sweeps.aggregation.filters.asked import SETTING, Asked, chosen
from sweeps.aggregation.filters.grammar import Condition
from sweeps.aggregation.rendering.table import Value
from sweeps.aggregation.results.varied_settings import setting_of
from sweeps.aggregation.tables.trials import setting_columns, trial_rows
from sweeps.records.manifest import Manifest, ManifestArm, ManifestCell
from sweeps.records.trial_record import TrialRecord
from sweeps.tracking.store import RecordStore

SWEEP = "sweep"
"""The first column of a frame over several sweeps."""


@dataclass(frozen=True)
class CellRow:
    """A cell of a sweep.

    Attributes:
        record: None where it has none.
        columns: Of its row among the sweep's trials.
        settings: Those of the columns that are settings.
    """

    manifest: Manifest
    arm: ManifestArm
    cell: ManifestCell
    record: TrialRecord | None
    columns: Mapping[str, Value]
    settings: Collection[str]

    @property
    def asked(self) -> Asked:
        """What a filter may ask of it: of a trial that a scheduler stopped, what that saw."""
        return Asked(
            {name: value for name, value in self.columns.items() if name not in self.settings},
            self.record.metrics if self.record and self.cell.stopped is None else {},
            self.manifest.config_of(self.arm, self.cell.seed),
        )


def cell_rows(store: RecordStore, sweep: str | None = None) -> list[CellRow]:
    """Return the cells of a sweep, or of all sweeps, in their order, each with its row.

    Args:
        store: Where manifests and records are.
        sweep: Its name; None for all, whose rows begin with the sweep's name.

    Raises:
        BadInput: If there is no such sweep.
        StoreUnreachable: If the store does not answer.
    """
    names = store.sweeps() if sweep is None else [sweep]
    manifests = [store.manifest(name) for name in names]
    keys = {cell.trial_key for manifest in manifests for cell in manifest.cells}
    records = store.records(keys) if keys else {}
    rows = [row for manifest in manifests for row in _rows(manifest, records)]
    return _side_by_side(rows) if sweep is None else rows


def are_chosen(rows: Sequence[CellRow], condition: Condition | None) -> list[bool]:
    """Return of each cell whether a filter wants it.

    Raises:
        BadInput: If the filter asks for what no trial has.
    """
    if condition is None:
        return [True] * len(rows)
    return chosen(condition, [row.asked for row in rows])


def _rows(manifest: Manifest, records: Mapping[str, TrialRecord]) -> list[CellRow]:
    arms = {arm.name: arm for arm in manifest.arms}
    cells = {(cell.arm, cell.seed): cell for cell in manifest.cells}
    settings = setting_columns(manifest).keys()
    found: list[CellRow] = []
    for columns in trial_rows(manifest, records):
        cell = cells[str(columns["arm"]), int(columns["seed"] or 0)]
        record = records.get(cell.trial_key)
        found.append(CellRow(manifest, arms[cell.arm], cell, record, columns, settings))
    return found


def _side_by_side(rows: Sequence[CellRow]) -> list[CellRow]:
    """Return rows of several sweeps, each with the settings that any of them varies."""
    settings = dict.fromkeys(name for row in rows for name in row.settings).keys()
    return [
        replace(
            row,
            columns={SWEEP: row.manifest.sweep}
            | {**row.columns}
            | {
                name: setting_of(row.arm, name.removeprefix(SETTING))
                for name in settings
                if name not in row.columns
            },
            settings=settings,
        )
        for row in rows
    ]
