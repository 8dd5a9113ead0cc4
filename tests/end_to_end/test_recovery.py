"""Folders without a store and a store without folders are each enough."""

import shutil
from pathlib import Path

import pytest

from tests.end_to_end.command import Terminal
from tests.end_to_end.expectations import expect_each_cell_finished_once, expect_same_results
from tests.end_to_end.storage_view import num_starts, trial_runs
from tests.end_to_end.sweep_file import write_sweep

NUM_EPOCHS = 3


@pytest.fixture
def file(tmp_path: Path, terminal: Terminal) -> Path:
    """Return the file of a sweep that has ended; its report of then is in the folder `before`."""
    path = write_sweep(tmp_path / "lost.py", epochs=NUM_EPOCHS)
    ended = terminal.run("run", str(path), "--engine", "inline")
    assert ended.code == 0, ended.explained()
    shutil.copytree(terminal.folder / "reports", tmp_path / "before" / "reports")
    return path


@pytest.mark.slow
def test_a_lost_store_is_filled_from_the_folders(
    tmp_path: Path, terminal: Terminal, file: Path
) -> None:
    storage = terminal.storage
    starts = num_starts(storage)
    terminal.database.unlink()
    shutil.rmtree(storage / "artifacts")
    ended = terminal.run("run", str(file))
    assert ended.code == 0, ended.explained()
    assert num_starts(storage) == starts
    expect_each_cell_finished_once(storage, num_cells=6, num_epochs=NUM_EPOCHS)
    expect_same_results(terminal.folder, tmp_path / "before", "lost")
    for run in trial_runs(terminal.database):
        names = {path.name for path in run.artifacts.iterdir()}
        assert names >= {"config.json", "predictions.safetensors", "weights.safetensors", "log.txt"}


@pytest.mark.nightly  # survey/test_surveyed_cells.py counts cells as filled by their records alone
def test_lost_folders_are_not_missed(tmp_path: Path, terminal: Terminal, file: Path) -> None:
    shutil.rmtree(terminal.storage / "cells")
    ended = terminal.run("run", str(file))
    assert ended.code == 0, ended.explained()
    assert "0 trained now, 6 of 6 cells filled" in ended.output
    assert num_starts(terminal.storage) == 0
    expect_same_results(terminal.folder, tmp_path / "before", "lost")
