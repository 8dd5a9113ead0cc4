"""Which filled cells the tracking store lacks, as the store itself says."""

from typing import NamedTuple

from sweeps.execution.driver.folder_states import folder_states
from sweeps.execution.driver.survey import Survey
from sweeps.execution.plan.planner import SurveyedCell, surveyed
from sweeps.records.manifest import Manifest


class Unrecorded(NamedTuple):
    """Trial keys of filled cells whose records the store lacks.

    Attributes:
        to_carry: Their folders hold all of it.
        lost: The store had them when the launch began, and there is no folder.
    """

    to_carry: list[str]
    lost: list[str]


def unrecorded(survey: Survey, manifest: Manifest) -> Unrecorded:
    """Ask the tracking store for every cell, and say which it lacks.

    Args:
        survey: What the launch had to do.
        manifest: Of the sweep as it is now.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    keys, store = list(manifest.cell_keys().values()), survey.store
    records = store.records(keys) if store.is_there() else {}
    missing = [cell for cell in surveyed(manifest.cells, {}, records) if not _is_there(cell)]
    folders = folder_states(survey.storage, [cell.cell.trial_key for cell in missing])
    there = {cell.cell.trial_key for cell in survey.cells if cell.is_recorded}
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
