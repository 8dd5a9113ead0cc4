"""Two different sweeps at once over one storage, and the same one twice."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sweeps.storage.file_lock import is_locked
from sweeps.storage.folder import Folder
from tests.end_to_end.command import Terminal, clean_environment
from tests.end_to_end.expectations import expect_each_cell_finished_once
from tests.end_to_end.storage_view import outboxes
from tests.end_to_end.sweep_file import ROUTINGS, write_sweep
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.slow

NUM_EPOCHS = 5
TOKEN = "s3cr3t-t0k3n"
_OPEN = """\
import sys, time
from pathlib import Path
from sweeps.tracking.opening import open_store
from sweeps.storage.locations import Storage
storage = Storage(Path(sys.argv[1]))
Path(sys.argv[1], sys.argv[2]).touch()
while len(list(storage.root.glob("ready-*"))) < 3:  # so that all begin at once
    time.sleep(0.01)
print(open_store(None, storage.root).writer().experiment_id)
"""


def test_two_sweeps_share_a_storage_and_their_trials_and_a_third_start_is_refused(
    tmp_path: Path, terminal: Terminal
) -> None:
    storage = terminal.storage
    more = {**ROUTINGS, "two iterations": {"model.routing.iterations": 2}}
    gate = tmp_path / "gate"
    gate.touch()
    alike = {"epochs": NUM_EPOCHS, "seconds": 0.3, "gate": str(gate)}
    first = write_sweep(tmp_path / "first.py", **alike)
    second = write_sweep(tmp_path / "second.py", arms=more, **alike)
    notify = ("--notify", f"sh -c 'cat >> {tmp_path}/$1' {TOKEN}")
    both = [
        terminal.start("run", str(file), *notify[:1], f"{notify[1]} {file.stem}")
        for file in (first, second)
    ]

    both[0].wait_until(lambda: is_locked(Folder(storage, "journals"), "first.lock"))
    refused = terminal.run("run", str(first), *notify[:1], f"{notify[1]} first")
    gate.unlink()
    assert refused.code == 2, refused.explained()
    assert "being run already" in refused.errors
    assert len(refused.errors.strip().splitlines()) == 1

    for command in both:
        ended = command.wait()
        assert ended.code == 0, ended.explained()
    expect_each_cell_finished_once(storage, num_cells=8, num_epochs=NUM_EPOCHS)
    assert all(len(facts.starts) == 1 for facts in outboxes(storage).values())
    for name, num_rows in (("first", 6), ("second", 8)):
        rows = (terminal.folder / "reports" / name / "trials.csv").read_text().splitlines()[1:]
        assert len(rows) == num_rows
        assert all("finished" in row for row in rows), rows
        assert told(tmp_path / name)["outcome"] == "complete"
    expect_words_of_a_failed_launch_and_none_of_a_killed_one(tmp_path, terminal, notify[1])


def expect_words_of_a_failed_launch_and_none_of_a_killed_one(
    tmp_path: Path, terminal: Terminal, command: str
) -> None:
    """Run two launches at once, of which one trains a failing arm and the other is killed."""
    gate = tmp_path / "gate"
    gate.touch()
    loss = {"loss": {"kind": "troubled", "trouble": "raise", "marker": str(tmp_path / "none")}}
    arms: dict[str, dict[str, object]] = {"good": {"model.routing": "uniform"}, "raises": loss}
    failing = write_sweep(tmp_path / "failing.py", arms=arms, seeds=(7,))
    killed = write_sweep(tmp_path / "killed.py", seeds=(8,), gate=str(gate))
    options = ("--engine", "inline", "--notify")
    doomed = terminal.start("run", str(killed), *options, f"{command} killed")
    ended = terminal.run("run", str(failing), *options, f"{command} failing")
    assert ended.code == 3, ended.explained()
    message = told(tmp_path / "failing")
    assert (message["outcome"], message["num_filled"], message["num_failed"]) == ("failed", 1, 1)
    assert Path(message["report"]).is_file()
    assert TOKEN in ended.output, "the command that resumes is as it was typed"

    doomed.wait_until(lambda: is_locked(Folder(terminal.storage, "journals"), "killed.lock"))
    doomed.wait_until((terminal.storage / "journals" / "killed.jsonl").exists)
    doomed.kill_all()
    status = terminal.run("status", "killed").output
    assert "The last launch was killed." in status
    assert "--notify" not in status
    assert not (tmp_path / "killed").exists()
    files = [path for path in terminal.storage.rglob("*") if path.is_file()]
    assert [path for path in files if TOKEN.encode() in path.read_bytes()] == []


def told(file: Path) -> dict[str, Any]:
    """Return what the command of the end was told: one line, once."""
    (line,) = file.read_text().splitlines()
    return json.loads(line)


def test_processes_that_open_a_new_store_at_once_all_find_it_whole(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _OPEN, str(tmp_path), f"ready-{number}"],
            cwd=tmp_path,
            env=clean_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    ended = [process.communicate(timeout=PATIENCE_SECONDS) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], ended
    assert len({output for output, _ in ended}) == 1
