"""A sweep whose engine is lost under it goes on by itself, and ends as if nothing had happened."""

import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.end_to_end.command import Command, Terminal
from tests.end_to_end.expectations import expect_each_cell_finished_once, expect_same_results
from tests.end_to_end.storage_view import num_reported_epochs
from tests.end_to_end.sweep_file import write_sweep

pytestmark = pytest.mark.slow

NUM_EPOCHS = 6
NUM_CELLS = 9


def named(name: str) -> Callable[[Command], psutil.Process]:
    def find(command: Command) -> psutil.Process:
        return next(process for process in command.family() if process.name() == name)

    return find


def own_process(command: Command) -> psutil.Process:
    """Return the process that holds Ray and Tune."""
    (engine,) = (
        process
        for process in psutil.Process(command.pid).children()
        if "sweeps.execution.engine.tune.engine_process" in process.cmdline()
    )
    return engine


LOSSES = [named("raylet"), named("gcs_server"), own_process]


def test_raylet_head_and_process_are_killed_and_nothing_is_lost(
    tmp_path: Path, terminal: Terminal, second_terminal: Terminal
) -> None:
    storage, brake = terminal.storage, tmp_path / "brake"
    slow = {"seconds": 0.2, "brake": str(brake)}
    file = write_sweep(tmp_path / "lost.py", seeds=(0, 1, 2), epochs=NUM_EPOCHS, **slow)
    reference = second_terminal.run("run", str(file), "--engine", "inline")
    assert reference.code == 0, reference.explained()

    brake.touch()
    command = terminal.start("run", str(file))
    for number, process_of in enumerate(LOSSES):
        enough = max(1 + 12 * number, num_reported_epochs(storage) + 1)
        command.wait_until(lambda enough=enough: num_reported_epochs(storage) >= enough)
        victim = process_of(command)
        victim.send_signal(signal.SIGKILL)
    brake.unlink()
    ended = command.wait()
    assert ended.code == 0, ended.explained()
    assert ended.output.count("it is restarted, and trials resume") == len(LOSSES)
    expect_each_cell_finished_once(storage, num_cells=NUM_CELLS, num_epochs=NUM_EPOCHS)
    expect_same_results(terminal.folder, second_terminal.folder, "lost")
