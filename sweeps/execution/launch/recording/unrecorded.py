"""Which filled cells the tracking store lacks, as the store itself says."""

from collections.abc import Set
from typing import NamedTuple

from sweeps.execution.driver.folder_states import folder_states
from sweeps.execution.plan.planner import SurveyedCell, surveyed
from sweeps.records.manifest import Manifest
from sweeps.storage.locations import Storage
from sweeps.tracking.store import RecordStore


class Unrecorded(NamedTuple):
    """Trial keys of filled cells whose records the store lacks.

    Attributes:
        to_carry: Their folders hold all of it.
        lost: The store had them before, and there is no folder.
    """

    to_carry: list[str]
    lost: list[str]


def unrecorded(
    store: RecordStore, storage: Storage, manifest: Manifest, there: Set[str] = frozenset()
) -> Unrecorded:
    """Ask the tracking store for every cell, and say which it lacks.

    Args:
        store: The tracking store.
        storage: Where the cells' folders are.
        manifest: Of the sweep as it is now.
        there: Trial keys that the store had.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    keys = list(manifest.cell_keys().values())
    records = store.records(keys) if store.is_there() else {}
    missing = [cell for cell in surveyed(manifest.cells, {}, records) if not _is_there(cell)]
    folders = folder_states(storage, [cell.cell.trial_key for cell in missing])
    to_carry, lost = list[str](), list[str]()
    for cell in missing:
        key = cell.cell.trial_key
        folder = folders.get(key)
        if folder and (folder.outcome or (cell.cell.stopped and folder.epochs)):
            to_carry.append(key)
        elif key in there:
            lost.append(key)
    return Unrecorded(to_carry, lost)


def _is_there(cell: SurveyedCell) -> bool:
    return cell.is_recorded or (cell.cell.stopped is not None and cell.has_record)
