"""The state of trials according to the folders of their cells."""

import os
from collections.abc import Iterable

from sweeps.execution.cells.folder import WEIGHTS, CellFolder
from sweeps.execution.survey.surveyed_cells import FolderState
from sweeps.records.trial_record import Outcome
from sweeps.storage.locations import Storage


def folder_states(storage: Storage, trial_keys: Iterable[str]) -> dict[str, FolderState]:
    """Return the state of each trial that has a folder, by trial key."""
    return {
        key: _folder_state(CellFolder(storage.cells, key))
        for key in trial_keys
        if (storage.cells / key).is_dir()
    }


def _folder_state(folder: CellFolder) -> FolderState:
    if final := folder.read_final():
        return FolderState(
            outcome=final.outcome,
            epochs=len(final.curve),
            duration_seconds=final.duration_seconds,
            num_bytes=_num_bytes(folder),
            validation_error=final.tested.validation_error
            if final.outcome is Outcome.FINISHED and final.tested
            else None,
        )
    lines, _ = folder.read_outbox()
    epochs = [line.epoch for line in lines if line.epoch]
    return FolderState(
        epochs=max((line.epoch for line in epochs), default=0),
        failure=lines[-1].reason if lines and lines[-1].type == "failed" else None,
        duration_seconds=sum(line.duration_seconds for line in epochs),
    )


def _num_bytes(folder: CellFolder) -> int:
    """Return the bytes of a filled cell's files, 0 if its weights were deleted."""
    if not folder.attempt_files(WEIGHTS):
        return 0
    with os.scandir(folder.path) as entries:
        files = [entry for entry in entries if entry.is_file(follow_symlinks=False)]
    return sum(entry.stat(follow_symlinks=False).st_size for entry in files)
