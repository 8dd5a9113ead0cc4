"""A sweep that is killed and run again ends as if nothing had happened."""

from pathlib import Path

import pytest

from tests.end_to_end.command import Terminal
from tests.end_to_end.expectations import expect_each_cell_finished_once, expect_same_results
from tests.end_to_end.storage_view import num_reported_epochs, outboxes
from tests.end_to_end.sweep_file import write_sweep

pytestmark = pytest.mark.slow

NUM_EPOCHS = 6
NUM_CELLS = 9
KILL_AT = (0.15, 0.6)  # of all epochs


def test_a_sweep_killed_twice_gives_the_results_of_an_unbroken_one(
    tmp_path: Path, terminal: Terminal, second_terminal: Terminal
) -> None:
    storage, brake = terminal.storage, tmp_path / "brake"
    slow = {"seconds": 0.2, "brake": str(brake)}
    file = write_sweep(tmp_path / "killed.py", seeds=(0, 1, 2), epochs=NUM_EPOCHS, **slow)
    arguments = ("run", str(file))
    reference = second_terminal.run(*arguments, "--engine", "inline")
    assert reference.code == 0, reference.explained()
    brake.touch()

    finished: dict[str, list[int]] = {}
    for fraction in KILL_AT:
        enough = max(fraction * NUM_CELLS * NUM_EPOCHS, num_reported_epochs(storage) + 1)
        command = terminal.start(*arguments)
        command.wait_until(lambda enough=enough: num_reported_epochs(storage) >= enough)
        killed_processes = command.kill_all()
        assert {"gcs_server", "raylet"} <= set(killed_processes)
        expect_started_no_more(storage, finished)
        finished = finished_cells(storage)
    brake.unlink()
    last = terminal.run(*arguments)
    assert last.code == 0, last.explained()

    expect_started_no_more(storage, finished)
    expect_each_cell_finished_once(storage, num_cells=NUM_CELLS, num_epochs=NUM_EPOCHS)
    expect_same_results(terminal.folder, second_terminal.folder, "killed")
    assert any(facts.went_on() for facts in outboxes(storage).values())


def finished_cells(storage: Path) -> dict[str, list[int]]:
    """Return the starts of each cell that has its final record, by trial key."""
    return {
        key: facts.starts
        for key, facts in outboxes(storage).items()
        if (storage / "cells" / key / "final.json").exists()
    }


def expect_started_no_more(storage: Path, finished: dict[str, list[int]]) -> None:
    """Check that cells that were finished have not been started again."""
    now = outboxes(storage)
    assert {key: now[key].starts for key in finished} == finished
