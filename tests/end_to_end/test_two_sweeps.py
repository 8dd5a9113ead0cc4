"""Two different sweeps at once over one storage, and the same one twice."""

import subprocess
import sys
from pathlib import Path

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
    both = [terminal.start("run", str(file)) for file in (first, second)]

    both[0].wait_until(lambda: is_locked(Folder(storage, "journals"), "first.lock"))
    refused = terminal.run("run", str(first))
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
