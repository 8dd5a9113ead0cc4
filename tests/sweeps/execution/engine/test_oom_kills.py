"""The kernel's count of processes that it killed for memory is found where it keeps it."""

from pathlib import Path

import pytest

from sweeps.execution.engine import oom_kills
from sweeps.execution.engine.oom_kills import num_oom_kills


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a /proc whose process is in a cgroup of its own."""
    groups = tmp_path / "cgroup"
    counted_in = {
        "": (groups, "memory.events"),
        "memory": (groups / "memory", "memory.oom_control"),
    }
    monkeypatch.setattr(oom_kills, "_COUNTED_IN", counted_in)
    folder = tmp_path / "proc"
    (folder / "self").mkdir(parents=True)
    (folder / "vmstat").write_text("nr_free_pages 7\noom_kill 5\n")
    return folder


def count(file: Path, number: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"oom 9\noom_kill {number}\noom_kill_disable 0\n")


def test_the_cgroup_of_version_2_counts(proc: Path) -> None:
    (proc / "self" / "cgroup").write_text("0::/user/one\n")
    count(proc.parent / "cgroup" / "user" / "one" / "memory.events", 2)
    assert num_oom_kills(proc) == 2


def test_the_cgroup_of_version_1_counts(proc: Path) -> None:
    (proc / "self" / "cgroup").write_text("4:memory:/user/one\n2:cpu,cpuacct:/user\n0::/\n")
    count(proc.parent / "cgroup" / "memory" / "user" / "one" / "memory.oom_control", 3)
    assert num_oom_kills(proc) == 3


def test_a_container_sees_its_own_as_the_root(proc: Path) -> None:
    (proc / "self" / "cgroup").write_text("0::/../elsewhere\n")
    count(proc.parent / "cgroup" / "memory.events", 4)
    assert num_oom_kills(proc) == 4


def test_the_machine_counts_where_no_cgroup_does_and_nobody_where_there_is_no_linux(
    proc: Path, tmp_path: Path
) -> None:
    (proc / "self" / "cgroup").write_text("0::/\n")
    assert num_oom_kills(proc) == 5
    assert num_oom_kills(tmp_path / "nothing") == 0
