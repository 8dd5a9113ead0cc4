"""A look at what is there before a launch: folders, records, and what is left to do."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from search_spaces.sweep import Sweep
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.driver.evaluation_survey import survey_evaluations
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.engine.capacity import ONE_AT_A_TIME, Capacity
from sweeps.execution.plan.definition import Definition, define, sweep_of
from sweeps.execution.plan.evaluations import EvaluationState, PlannedEvaluation, count
from sweeps.execution.plan.planner import (
    FolderState,
    PlannedCell,
    dropped_cells,
    estimate_seconds,
    plan_cells,
    planned,
)
from sweeps.execution.plan.restore import restored
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest, ManifestCell
from sweeps.records.trial_record import TrialRecord
from sweeps.storage.locations import Storage, resolve_storage, resolve_tracking_uri
from sweeps.storage.store_format import refuse_newer_format
from sweeps.tracking.opening import open_store
from sweeps.tracking.store import RecordStore


@dataclass(frozen=True)
class Plan:
    """What a launch would do.

    Attributes:
        current: The manifest that is there, None for a new sweep.
        known: The definition with all that earlier launches of a search proposed; what a launch
            starts from, unless it trains all anew.
        lost: Trial keys of its filled cells that the launch would drop.
        cells: Every cell and where it stands.
        capacity: What each trial would get, and how many run at once.
        estimate_seconds: Of the empty cells, None where nothing like them was trained.
        evaluations: Every one of the finished trials and where it stands.
    """

    definition: Definition
    current: Manifest | None
    known: Definition
    lost: frozenset[str]
    cells: tuple[PlannedCell, ...]
    capacity: Capacity
    estimate_seconds: float | None
    storage: Storage
    tracking_uri: str
    evaluations: tuple[PlannedEvaluation, ...] = ()

    @property
    def name(self) -> str:
        """The sweep's name."""
        return self.definition.manifest.sweep

    @property
    def store(self) -> RecordStore:
        """The tracking store, not opened yet."""
        return open_store(self.tracking_uri, self.storage.root)

    @property
    def has_work(self) -> bool:
        """Whether anything is left to train: empty cells, or what a search has not proposed yet."""
        return self.definition.manifest.is_growing or not all(cell.is_filled for cell in self.cells)

    @property
    def has_evaluations_to_make(self) -> bool:
        """Whether finished trials lack evaluations that can be made."""
        return count(self.evaluations, EvaluationState.TO_MAKE) > 0


def survey(
    which: str | Path | Sweep, options: LaunchOptions, capacity: Capacity = ONE_AT_A_TIME
) -> Plan:
    """Look at what is there and say what a launch would do. Writes nothing.

    Raises:
        BadInput: If the sweep, a change or the folder cannot be.
        StoreUnreachable: If the tracking store does not answer.
    """
    storage = resolve_storage(options.storage)
    refuse_unwritable(storage.root, "storage")
    refuse_newer_format(storage)
    tracking_uri = resolve_tracking_uri(options.tracking_uri, storage.root)
    sweep, _, _ = sweep_of(which)
    store = open_store(tracking_uri, storage.root)
    is_there = store.is_there()
    current = store.current_manifest(_name(options, sweep)) if is_there else None
    definition = define(which, options, current.seeds if current else ())
    known = restored(definition, storage.journals, current)
    definition = definition if options.fresh else known
    keys = [cell.trial_key for cell in definition.manifest.cells]
    folders = {} if options.fresh else folder_states(storage, keys)
    records = {} if options.fresh or not is_there else store.records(keys)
    cells = plan_cells(definition.manifest, folders, records)
    dropped = dropped_cells(current, known.manifest)
    gone = _standing_of(dropped, storage, store) if dropped else ()
    speed = _seconds_per_epoch(definition.manifest, folders, records)
    num_to_come = definition.manifest.num_expected - len(cells)
    return Plan(
        definition=definition,
        current=current,
        known=known,
        lost=frozenset(cell.cell.trial_key for cell in gone if cell.is_filled),
        cells=cells,
        capacity=capacity,
        estimate_seconds=estimate_seconds(
            cells, definition.epochs, speed, capacity.num_concurrent, num_to_come
        ),
        storage=storage,
        tracking_uri=tracking_uri,
        evaluations=survey_evaluations(definition.manifest, storage, folders, records, store),
    )


def _standing_of(
    dropped: list[ManifestCell], storage: Storage, store: RecordStore
) -> tuple[PlannedCell, ...]:
    """Say where cells stand that a launch would drop."""
    keys = [cell.trial_key for cell in dropped]
    return planned(dropped, folder_states(storage, keys), store.records(keys))


def folder_states(storage: Storage, trial_keys: Iterable[str]) -> dict[str, FolderState]:
    """Return what the cells' folders say, by trial key."""
    return {
        key: _folder_state(CellFolder(storage.cells, key))
        for key in trial_keys
        if (storage.cells / key).is_dir()
    }


def _folder_state(folder: CellFolder) -> FolderState:
    if final := folder.read_final():
        return FolderState(final.outcome, len(final.curve), None, final.duration_seconds)
    lines, _ = folder.read_outbox()
    epochs = [line.epoch for line in lines if line.epoch]
    return FolderState(
        epochs=max((line.epoch for line in epochs), default=0),
        failure=lines[-1].reason if lines and lines[-1].type == "failed" else None,
        duration_seconds=sum(line.duration_seconds for line in epochs),
    )


def refuse_unwritable(folder: Path, what: str) -> None:
    """Refuse a folder that cannot be made or written to.

    Raises:
        BadInput: Naming the folder.
    """
    folder = folder.absolute()
    try:
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        is_folder = existing.is_dir()
        why = f"{existing} is {'read-only' if is_folder else 'no folder'}"
        is_writable = is_folder and os.access(existing, os.W_OK | os.X_OK)
    except OSError as error:  # a name too long, or a folder that may not be looked into
        is_writable, why = False, str(error.strerror)
    if not is_writable:
        raise BadInput(f"The {what} folder {folder} cannot be written to ({why}): choose another.")


def _name(options: LaunchOptions, sweep: Sweep) -> str:
    return sweep.name if options.name is None else options.name


def _seconds_per_epoch(
    manifest: Manifest, folders: dict[str, FolderState], records: dict[str, TrialRecord]
) -> dict[str, float]:
    """Return the mean seconds of an epoch by arm, of what was trained so far."""
    seen: dict[str, list[float]] = {}
    for cell in manifest.cells:
        folder, record = folders.get(cell.trial_key), records.get(cell.trial_key)
        if folder and folder.epochs:
            seen.setdefault(cell.arm, []).append(folder.duration_seconds / folder.epochs)
        elif record and record.duration_seconds and record.epochs:
            seen.setdefault(cell.arm, []).append(record.duration_seconds / record.epochs)
    return {arm: sum(values) / len(values) for arm, values in seen.items()}
