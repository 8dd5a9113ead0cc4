"""Which filled cells and evaluations the tracking store lacks, as the store itself says."""

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
    """Trial keys of filled cells of which the store lacks something.

    Attributes:
        to_carry: Those whose records it lacks, and whose folders hold all of it.
        lost: Those that the store had before, and that have no folder.
        evaluated: Those whose records lack evaluations of the sweep that their folders hold.
    """

    to_carry: list[str]
    lost: list[str]
    evaluated: list[str]

    @property
    def to_queue(self) -> list[str]:
        """Those of which something is to be carried, each once."""
        return list(dict.fromkeys([*self.to_carry, *self.evaluated]))


def unrecorded(
    store: RecordStore,
    storage: Storage,
    manifest: Manifest,
    recorded_before: Set[str] = frozenset(),
) -> Unrecorded:
    """Ask the tracking store for every cell, and say which it lacks.

    Args:
        store: The tracking store.
        storage: Where the cells' folders are.
        manifest: Of the sweep as it is now.
        recorded_before: Trial keys that the store had.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    keys = list(manifest.cell_keys().values())
    records = store.records(keys) if store.is_there() else {}
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
        if key in recorded  # what has no record gets none of its evaluations
        and declared & CellEvaluations(storage.cells / key).keys() - recorded[key]
    ]


def _is_recorded(cell: SurveyedCell) -> bool:
    return cell.is_recorded or (cell.cell.stopped is not None and cell.has_record)
