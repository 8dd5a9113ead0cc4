"""A tracking server that goes away stops no training, and what it missed is carried later."""

import socket
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.end_to_end.command import Ended, Terminal
from tests.end_to_end.expectations import EPOCH_METRICS
from tests.end_to_end.storage_view import num_starts, parent_runs, trial_runs
from tests.end_to_end.sweep_file import write_sweep
from tests.end_to_end.tracking_server import TrackingServer, free_port

pytestmark = pytest.mark.slow

NUM_EPOCHS = 4
NUM_CELLS = 6
IMPATIENT = "from sweeps.execution.launch import flush_records as end; end.TIMEOUT_SECONDS = 3.0"


@pytest.fixture
def server(tmp_path: Path) -> Generator[TrackingServer]:
    made = TrackingServer(tmp_path / "server")
    made.start()
    yield made
    made.kill()


# test_faulty_server.py has servers that fail at each request, test_lost_store.py lost stores
@pytest.mark.nightly
def test_a_server_killed_in_the_middle_of_a_sweep_gets_the_rest_later_without_training(
    tmp_path: Path, terminal: Terminal, server: TrackingServer
) -> None:
    file = write_sweep(tmp_path / "served.py", epochs=NUM_EPOCHS, seconds=0.6)
    arguments = ("run", str(file), "--tracking-uri", server.address)
    command = terminal.start(*arguments, patch=IMPATIENT)
    command.wait_until(lambda: any(run.steps for run in trial_runs(server.database)))
    server.kill()
    ended = command.wait()
    assert ended.code == 3, ended.explained()
    assert "not yet in MLflow" in ended.output
    assert "Traceback" not in ended.output + ended.errors
    assert len(list(terminal.storage.glob("cells/*/final.json"))) == NUM_CELLS
    starts = num_starts(terminal.storage)
    assert starts == NUM_CELLS
    assert "FINISHED" not in {run.status for run in trial_runs(server.database)}

    server.start()
    ended = terminal.run(*arguments)
    assert ended.code == 0, ended.explained()
    assert num_starts(terminal.storage) == starts
    runs = trial_runs(server.database)
    assert [run.status for run in runs] == ["FINISHED"] * NUM_CELLS
    assert len({run.tags["capsweep.trial_key"] for run in runs}) == NUM_CELLS
    for run in runs:
        for metric in EPOCH_METRICS:
            assert run.steps[metric] == list(range(1, NUM_EPOCHS + 1))
    assert len(list(server.artifacts.rglob("weights.safetensors"))) == NUM_CELLS
    assert parent_runs(server.database)["served"].status == "FINISHED"
    assert not terminal.database.exists()


def test_a_server_that_is_away_or_never_answers_is_told_of_in_one_sentence(
    tmp_path: Path, terminal: Terminal
) -> None:
    file = write_sweep(tmp_path / "unserved.py")
    arguments = ("run", str(file), "--tracking-uri")
    away = terminal.run(*arguments, f"http://127.0.0.1:{free_port()}")
    expect_refused(terminal, away)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        unanswered = terminal.run(*arguments, address)
    expect_refused(terminal, unanswered)
    assert unanswered.seconds < 10 + 2 * away.seconds, "about 4 seconds more"


def expect_refused(terminal: Terminal, ended: Ended) -> None:
    """Check that a command ended with one sentence, and left nothing behind."""
    assert ended.code == 2, ended.explained()
    assert "does not answer" in ended.errors
    assert len(ended.errors.strip().splitlines()) == 1
    assert not list(terminal.storage.glob("cells/*"))
    assert not terminal.database.exists()
