"""A trial that takes all memory fails by itself, with its peak; its neighbours are finished."""

import os
import re
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.end_to_end.command import Ended, Terminal
from tests.end_to_end.storage_view import num_starts_by_key, trial_runs
from tests.end_to_end.sweep_file import write_sweep

pytestmark = pytest.mark.slow

LIMIT_BYTES = 5 * 2**30
GOOD = {f"rate {number}": {"optimiser.learning_rate": 0.001 * number} for number in range(1, 8)}
CGROUPS = Path("/sys/fs/cgroup")


@pytest.fixture
def cgroup() -> Generator[Path]:
    """Return a group of processes that may hold so much memory and no more."""
    version_1 = CGROUPS / "memory"
    parent = version_1 if version_1.is_dir() else CGROUPS
    group = parent / f"capsweep-{os.getpid()}"
    limit = "memory.limit_in_bytes" if parent == version_1 else "memory.max"
    try:
        group.mkdir()
        (group / limit).write_text(str(LIMIT_BYTES))
    except OSError as error:
        if group.is_dir():
            group.rmdir()
        pytest.skip(f"no memory cgroup can be made here: {error}")
    yield group
    group.rmdir()


def run_in(cgroup: Path, terminal: Terminal, file: Path) -> Ended:
    command = terminal.start("run", str(file), "--max-concurrent", "2")
    (cgroup / "cgroup.procs").write_text(str(command.pid))  # before it has started anything
    return command.wait()


def test_seven_are_finished_and_one_is_out_of_memory_with_its_peak(
    tmp_path: Path, terminal: Terminal, cgroup: Path
) -> None:
    arms = {"rate 1": {}, "hungry": {"loss.trouble": "eat", "loss.marker": "/none"}, **GOOD}
    file = write_sweep(tmp_path / "hungry.py", arms=arms, seeds=(0,), epochs=2)
    ended = run_in(cgroup, terminal, file)
    assert ended.code == 3, ended.explained()
    (line,) = (line for line in ended.output.splitlines() if line.startswith("failed: hungry"))
    result = re.search(r"out of memory: its process held ([\d.]+) GiB at most", line)
    assert result, ended.explained()
    assert 1 < float(result[1]) <= LIMIT_BYTES / 2**30
    runs = trial_runs(terminal.database)
    assert Counter(run.outcome for run in runs) == {"finished": 7, "failed": 1}
    (hungry,) = (run.tags["capsweep.trial_key"] for run in runs if run.outcome == "failed")
    before = num_starts_by_key(terminal.storage)  # the system may kill a neighbour too
    assert before[hungry] == 2, "it was not tried once more"

    second = run_in(cgroup, terminal, file)
    assert second.code == 3, second.explained()
    after = num_starts_by_key(terminal.storage)
    assert after == before | {hungry: 4}, "something else was trained"
