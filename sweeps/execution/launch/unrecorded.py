"""Filled cells and evaluations that the tracking store lacks, by asking the store."""

from collections.abc import Mapping, Set
from typing import NamedTuple

from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.survey.folder_states import folder_states
from sweeps.execution.survey.surveyed_cells import SurveyedCell, surveyed
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord
from sweeps.storage.locations import Storage
from sweeps.tracking.store import RecordStore


class Unrecorded(NamedTuple):
    """Trial keys of filled cells that are not fully recorded.

    Attributes:
        to_carry: Without a record, but with everything in their folders.
        lost: Recorded before, now without a record and without a folder.
        evaluated: With a record that lacks evaluations which their folders hold.
    """

    to_carry: list[str]
    lost: list[str]
    evaluated: list[str]

    @property
    def to_queue(self) -> list[str]:
        """All that have something to record, each once."""
        return list(dict.fromkeys([*self.to_carry, *self.evaluated]))


def unrecorded(
    store: RecordStore,
    storage: Storage,
    manifest: Manifest,
    recorded_before: Set[str] = frozenset(),
) -> Unrecorded:
    """Ask the tracking store for every cell, and return what it lacks.

    Args:
        store: The tracking store.
        storage: The storage with the cells' folders.
        manifest: The current manifest of the sweep.
        recorded_before: Trial keys that the store had before.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    keys = list(manifest.cell_keys().values())
    records = store.records(keys) if store.exists() else {}
    missing = [cell for cell in surveyed(manifest.cells, {}, records) if not _is_recorded(cell)]
    folders = folder_states(storage, [cell.cell.trial_key for cell in missing])
    to_carry, lost = list[str](), list[str]()
    for cell in missing:
        key = cell.cell.trial_key
        folder = folders.get(key)
        if folder and (folder.outcome or (cell.cell.stopped and folder.epochs)):
            to_carry.append(key)
        elif key in recorded_before:
            lost.append(key)
    return Unrecorded(to_carry, lost, _evaluated(storage, manifest, records, {*to_carry}))


def _evaluated(
    storage: Storage, manifest: Manifest, records: Mapping[str, TrialRecord], to_carry: Set[str]
) -> list[str]:
    declared = {evaluation.evaluation_key for evaluation in manifest.evaluations}
    if not declared:
        return []
    recorded = {key: set[str]() for key in to_carry}
    recorded |= {key: set(record.evaluations) for key, record in records.items()}
    return [
        key
        for key in dict.fromkeys(manifest.cell_keys().values())
        if key in recorded  # a trial without a record gets no evaluations
        and declared & CellEvaluations(storage.cells / key).keys() - recorded[key]
    ]


def _is_recorded(cell: SurveyedCell) -> bool:
    return cell.is_recorded or (cell.cell.stopped is not None and cell.has_record)
