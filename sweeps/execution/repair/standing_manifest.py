"""Which manifest of a sweep stands: the tracking store's, or the one kept beside the journals."""

from typing import NamedTuple

from sweeps.execution.plan.planner import dropped_cells
from sweeps.execution.recorder.manifest_file import kept_manifest
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.storage.locations import Storage
from sweeps.tracking.store import RecordStore


class StandingManifest(NamedTuple):
    """The manifest that stands.

    Attributes:
        manifest: None where there is none.
        is_recorded: Whether the tracking store has it.
    """

    manifest: Manifest | None
    is_recorded: bool


def standing_manifest(store: RecordStore, storage: Storage, sweep: str) -> StandingManifest:
    """Return the store's manifest, or the kept one where that goes beyond it.

    A store that was restored from an older copy is behind what the last launch has kept here. What
    is kept here is behind the store where somebody has extended the sweep from another storage.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    kept = kept_manifest(storage.journals, sweep)
    if not store.is_there() or sweep not in store.sweeps():
        return StandingManifest(kept, is_recorded=False)
    try:
        stored = store.manifest(sweep)
    except BadInput:
        return StandingManifest(kept, is_recorded=False)
    if kept and _goes_beyond(kept, stored):
        return StandingManifest(kept, is_recorded=False)
    return StandingManifest(stored, is_recorded=True)


def _goes_beyond(kept: Manifest, stored: Manifest) -> bool:
    """Return whether a manifest has all cells of another, and more, or tells more of the same."""
    if dropped_cells(stored, kept):
        return False
    if len(kept.proposed_cells()) > len(stored.proposed_cells()):
        return True
    return _told(kept) > _told(stored)


def _told(manifest: Manifest) -> set[object]:
    """Return what a manifest comes to tell while its sweep goes on."""
    cells = {(cell.arm, cell.seed, cell.trial_key) for cell in manifest.cells}
    stopped = {cell.trial_key for cell in manifest.cells if cell.stopped}
    evaluations = {evaluation.evaluation_key for evaluation in manifest.evaluations}
    return {*cells, *stopped, *evaluations, *(["is over"] if not manifest.is_growing else [])}
