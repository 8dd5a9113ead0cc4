"""Launches that extend a sweep, share its trials, replace it, or begin anew."""

from pathlib import Path

import pytest

from tests.end_to_end.command import Terminal
from tests.end_to_end.expectations import expect_each_cell_finished_once, expect_same_results
from tests.end_to_end.storage_view import num_starts, outboxes, trial_runs
from tests.end_to_end.sweep_file import write_sweep

pytestmark = pytest.mark.slow

NUM_EPOCHS = 2


def test_a_sweep_is_extended_shared_protected_replaced_and_begun_anew(
    tmp_path: Path, terminal: Terminal
) -> None:
    file = write_sweep(tmp_path / "changing.py", seeds=(0, 1), epochs=NUM_EPOCHS)
    storage = terminal.storage
    arguments = ("run", str(file), "--engine", "inline")
    expect_trained(terminal, "run", str(file), trained=6, cells=6)

    expect_trained(terminal, *arguments, "--name", "other", trained=0, cells=6)
    assert rows(terminal.folder, "other") == rows(terminal.folder, "changing")

    expect_refused(terminal, *arguments, "--seeds", "0", "--epochs", "3")
    assert num_starts(storage) == 6

    expect_trained(terminal, *arguments, "--add-seeds", "2", trained=3, cells=9)
    expect_each_cell_finished_once(storage, num_cells=9, num_epochs=NUM_EPOCHS)

    expect_trained(terminal, *arguments, "--seeds", "0", "--replace", trained=0, cells=3)
    assert len(rows(terminal.folder, "changing")) == 3
    assert len(trial_runs(terminal.database)) == 9

    old = tmp_path / "old"
    old.mkdir()
    (terminal.folder / "reports").rename(old / "reports")
    expect_trained(terminal, *arguments, "--seeds", "0", "--retrain", trained=3, cells=3)
    expect_same_results(terminal.folder, old, "changing")
    assert len(list((storage / "replaced").iterdir())) == 3
    expect_each_cell_finished_once(storage, num_cells=9, num_epochs=NUM_EPOCHS)
    assert all(facts.starts == [1] for facts in outboxes(storage).values())


def expect_trained(terminal: Terminal, *arguments: str, trained: int, cells: int) -> None:
    """Check that a launch ends well, and how many of its cells it trained."""
    ended = terminal.run(*arguments)
    assert ended.code == 0, ended.explained()
    assert f"{trained} trained now, {cells} of {cells} cells filled" in ended.output


def expect_refused(terminal: Terminal, *arguments: str) -> None:
    """Check that fewer seeds and other epochs are refused in one sentence, with a way out."""
    ended = terminal.run(*arguments)
    assert ended.code == 2, ended.explained()
    assert "the seeds 1 are not in it" in ended.errors
    assert "stopping.epochs 2 -> 3" in ended.errors
    assert "--name" in ended.errors
    assert "--replace" in ended.errors
    assert len(ended.errors.strip().splitlines()) == 1


def rows(folder: Path, sweep: str) -> list[str]:
    """Return the rows of a sweep's trials.csv."""
    return (folder / "reports" / sweep / "trials.csv").read_text().splitlines()[1:]
