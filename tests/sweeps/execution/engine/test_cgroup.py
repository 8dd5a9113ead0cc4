"""Limits and usage are read from cgroups of both versions."""

import shutil
from pathlib import Path

import pytest

from sweeps.execution.engine import cgroup
from sweeps.execution.engine.capacity import this_machine
from sweeps.execution.engine.cgroup import num_cores, num_oom_kills


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a /proc whose process is in a cgroup of its own."""
    monkeypatch.setattr(cgroup, "_ROOT", tmp_path / "cgroup")
    monkeypatch.setattr(cgroup, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(cgroup.os, "sched_getaffinity", lambda _: range(8))
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
    assert num_oom_kills() == 2


def test_the_cgroup_of_version_1_counts(proc: Path) -> None:
    (proc / "self" / "cgroup").write_text("4:memory:/user/one\n2:cpu,cpuacct:/user\n0::/\n")
    count(proc.parent / "cgroup" / "memory" / "user" / "one" / "memory.oom_control", 3)
    assert num_oom_kills() == 3


def test_a_container_sees_its_own_as_the_root(proc: Path) -> None:
    (proc / "self" / "cgroup").write_text("0::/../elsewhere\n")
    count(proc.parent / "cgroup" / "memory.events", 4)
    assert num_oom_kills() == 4


def test_the_machine_counts_where_no_cgroup_does_and_nobody_where_there_is_no_linux(
    proc: Path,
) -> None:
    (proc / "self" / "cgroup").write_text("0::/\n")
    assert num_oom_kills() == 5
    shutil.rmtree(proc)
    assert num_oom_kills() == 0


def test_a_machine_has_the_cores_of_the_affinity_of_its_process(
    proc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert proc.is_dir()
    assert this_machine()[0].cpus == 8
    monkeypatch.setattr(cgroup.os, "sched_getaffinity", lambda _: {3})
    assert this_machine()[0].cpus == 1


@pytest.mark.parametrize(
    ("quota", "num"), [("max 100000", 8), ("250000 100000", 2), ("50000 100000", 1)]
)
def test_a_quota_of_version_2_limits_the_cores(proc: Path, quota: str, num: int) -> None:
    (proc / "self" / "cgroup").write_text("0::/pod/one\n")
    file = proc.parent / "cgroup" / "pod" / "cpu.max"
    file.parent.mkdir(parents=True)
    file.write_text(f"{quota}\n")
    (file.parent / "one").mkdir()
    (file.parent / "one" / "cpu.max").write_text("600000 100000\n" if num < 6 else "max 100000\n")
    assert num_cores() == num


@pytest.mark.parametrize(("quota", "num"), [(-1, 8), (300000, 3)])
def test_a_quota_of_version_1_limits_the_cores(proc: Path, quota: int, num: int) -> None:
    (proc / "self" / "cgroup").write_text("4:memory:/user\n2:cpu,cpuacct:/elsewhere\n0::/\n")
    folder = proc.parent / "cgroup" / "cpu"
    folder.mkdir(parents=True)
    (folder / "cpu.cfs_quota_us").write_text(f"{quota}\n")
    (folder / "cpu.cfs_period_us").write_text("100000\n")
    assert num_cores() == num
