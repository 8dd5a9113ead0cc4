"""What the folders of cells say of their trials."""

from collections.abc import Iterable

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.plan.planner import FolderState
from sweeps.storage.locations import Storage


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
