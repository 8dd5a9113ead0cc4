"""The cells of one sweep or of all, each with its row of a frame."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from sweeps.aggregation.rendering.table import Value
from sweeps.aggregation.results.varied_settings import setting_value
from sweeps.aggregation.tables.trials import setting_column, trial_rows
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest, ManifestArm, ManifestCell
from sweeps.records.trial_record import Json, TrialRecord
from sweeps.tracking.store import RecordStore

SWEEP = "sweep"
"""The first column of a frame over several sweeps."""


_NO_FILTER = (
    "'where' is no longer an option: filter the frame with pandas, as in "
    "sweeps.trials().query(\"`model.routing` == 'em' and test_error < 0.02\")."
)


@dataclass(frozen=True)
class CellRow:
    """A cell of a sweep.

    Attributes:
        record: None where it has none.
        columns: Its row among the sweep's trials.
    """

    manifest: Manifest
    cell: ManifestCell
    record: TrialRecord | None
    columns: Mapping[str, Value]


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
    if sweep is not None:
        return rows
    return [replace(row, columns={SWEEP: row.manifest.sweep} | {**row.columns}) for row in rows]


def check_no_filter(where: object) -> None:
    """Refuse a filter in the language of earlier versions.

    Raises:
        BadInput: If one is given.
    """
    if where is not None:
        raise BadInput(_NO_FILTER)


def flat_config(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of each setting; a part is its kind at the part's own path."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            part = cast(Mapping[str, Any], value)
            if isinstance(part.get("kind"), str):
                yield prefix + name, part["kind"]
            yield from flat_config(part, f"{prefix}{name}.")
        elif name != "kind":
            yield prefix + name, value


def _rows(manifest: Manifest, records: Mapping[str, TrialRecord]) -> Iterator[CellRow]:
    arms = {arm.name: arm for arm in manifest.arms}
    cells = {(cell.arm, cell.seed): cell for cell in manifest.cells}
    settings: dict[tuple[str, int | None], dict[str, Value]] = {}
    for columns in trial_rows(manifest, records):
        cell = cells[str(columns["arm"]), int(columns["seed"] or 0)]
        place = cell.arm, manifest.splits.get(cell.seed)
        if place not in settings:
            settings[place] = _settings(manifest, arms[cell.arm], cell.seed)
        # a search has values for what its arms propose, which come first and are not replaced
        row = {**columns, **{k: v for k, v in settings[place].items() if k not in columns}}
        yield CellRow(manifest, cell, records.get(cell.trial_key), row)


def _settings(manifest: Manifest, arm: ManifestArm, seed: int) -> dict[str, Value]:
    """Return column -> value of all settings that an arm has on a seed."""
    config: Json = manifest.config_of(arm, seed)
    return {
        setting_column(path, manifest): setting_value(value) for path, value in flat_config(config)
    }
