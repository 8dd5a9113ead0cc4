"""Ctrl-C and the time limit end a sweep soon, and the same command goes on."""

import shutil
import time
from pathlib import Path

import pytest

from tests.end_to_end.command import Command, Ended, Terminal
from tests.end_to_end.expectations import (
    expect_each_cell_finished_once,
    expect_no_run_left_running,
)
from tests.end_to_end.storage_view import num_reported_epochs, num_starts, parent_runs, trial_runs
from tests.end_to_end.sweep_file import write_sweep

pytestmark = pytest.mark.slow

NUM_EPOCHS = 30  # more than can pass before the last of the three interruptions takes effect
SOON_SECONDS = 6.0
TWO: dict[str, dict[str, object]] = {"routing": {}, "uniform": {"model.routing": "uniform"}}


def test_an_interrupted_sweep_ends_soon_says_what_is_kept_and_goes_on(
    tmp_path: Path, terminal: Terminal
) -> None:
    alike = {"arms": TWO, "seeds": (0,), "epochs": NUM_EPOCHS, "seconds": 0.4}
    gate = tmp_path / "gate"
    file = write_sweep(tmp_path / "interrupted.py", **alike, gate=str(gate))
    storage = terminal.storage
    arguments = ("run", str(file))

    command = terminal.start(*arguments, "--max-concurrent", "1", "--cpus-per-trial", "1")
    command.wait_until(lambda: num_reported_epochs(storage) > 1)
    assert num_starts(storage) == 1
    gate.touch()  # the first trial cannot end
    raised = terminal.run("limit", "interrupted", "2")
    assert raised.code == 0, raised.explained()
    command.wait_until(lambda: num_starts(storage) == 2)
    gate.unlink()
    ended = interrupted_after(5, command, storage, group=False)
    expect_interrupted(ended, storage, file)
    ended = interrupted_after(3, terminal.start(*arguments), storage, group=True)
    expect_interrupted(ended, storage, file)

    limited = terminal.run(*arguments, "--time-limit", "2s")
    expect_interrupted(limited, storage, file)

    terminal.database.unlink()  # a store that is lost while trials are unfinished is no loss
    shutil.rmtree(storage / "artifacts")
    last = terminal.run(*arguments)
    assert last.code == 0, last.explained()
    expect_each_cell_finished_once(storage, num_cells=2, num_epochs=NUM_EPOCHS)


def test_an_interruption_while_ray_starts_leaves_no_process_behind(
    tmp_path: Path, terminal: Terminal
) -> None:
    file = write_sweep(tmp_path / "early.py")
    command = terminal.start("run", str(file))
    command.wait_until(lambda: any("gcs_server" in process.name() for process in command.family()))
    family = command.family()
    ended = command.interrupt()
    assert ended.code == 130, ended.explained()
    assert "Traceback" not in ended.errors
    assert not [
        process for process in family if process.is_running() and process.status() != "zombie"
    ]
    expect_no_run_left_running(terminal.storage)


def interrupted_after(num: int, command: Command, storage: Path, *, group: bool) -> Ended:
    """Interrupt a command when it has recorded some more epochs, and see that it ends soon."""
    before, begun = num_reported_epochs(storage), time.monotonic()
    command.wait_until(lambda: num_reported_epochs(storage) >= before + num)
    took = time.monotonic() - begun
    family = command.family()
    ended = command.interrupt(group=group)
    assert ended.seconds < max(SOON_SECONDS, took / 2), "which a busy machine makes long too"
    assert not [
        process for process in family if process.is_running() and process.status() != "zombie"
    ]
    return ended


def expect_interrupted(ended: Ended, storage: Path, file: Path) -> None:
    """Check the exit code, the words, and that MLflow knows of the interruption."""
    assert ended.code == 130, ended.explained()
    assert "kept" in ended.output
    assert f"capsweep run {file}" in ended.output
    assert "Traceback" not in ended.output + ended.errors
    runs = trial_runs(storage / "mlflow.db")
    states = {(run.status, run.outcome) for run in runs}
    assert states <= {("FINISHED", "finished"), ("SCHEDULED", "interrupted")}
    assert ("SCHEDULED", "interrupted") in states
    assert parent_runs(storage / "mlflow.db")["interrupted"].status == "SCHEDULED"
    expect_no_run_left_running(storage)
