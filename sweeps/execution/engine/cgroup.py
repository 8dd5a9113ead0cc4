"""What the kernel says of this process: its cores, and how often it killed one for memory."""

import os
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_PROC = Path("/proc")


def num_cores() -> int:
    """Count the cores that this process may use, at least 1.

    Its affinity (taskset, Slurm, a container's cpuset) and the quotas of its cgroup and of those
    above limit them. A quota of 2.5 cores counts as 2.
    """
    if hasattr(os, "sched_getaffinity"):  # Linux
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    return max(1, int(min([allowed, *_quotas()])))


def num_oom_kills() -> int:
    """Return the count of the cgroup, else of the machine, else 0."""
    counted_in = _files("memory", "memory.events", "memory.oom_control")
    for file in (*counted_in, _PROC / "vmstat"):
        counts = [line[1] for line in _split_lines(file) if line[0] == "oom_kill"]
        if counts:
            return int(counts[0])
    return 0


def _quotas() -> Iterator[float]:
    """Yield the cores of each quota."""
    for file in _files("cpu", "cpu.max", "cpu.cfs_quota_us"):
        numbers = [word for line in _split_lines(file) for word in line]
        if file.name == "cpu.cfs_quota_us":
            numbers += [
                word for line in _split_lines(file.with_name("cpu.cfs_period_us")) for word in line
            ]
        if len(numbers) == 2 and numbers[0].isdecimal():  # else "max" or -1, which is no quota
            yield int(numbers[0]) / int(numbers[1])


def _files(controller: str, version_2: str, version_1: str) -> Iterator[Path]:
    """Yield a controller's file of the cgroup of this process and of those above, nearest first.

    Args:
        controller: As /proc/self/cgroup names it.
        version_2: Name of the file where one hierarchy serves all controllers.
        version_1: Name of the file where the controller has its own.
    """
    for line in _lines(_PROC / "self" / "cgroup"):
        _, controllers, path = line.split(":", 2)
        if not controllers:
            root, name = _ROOT, version_2
        elif controller in controllers.split(","):
            root, name = _ROOT / controller, version_1
        else:
            continue
        group = root / path.lstrip("/")
        above = (folder for folder in group.parents if folder.is_relative_to(root))
        yield from (folder / name for folder in (group, *above))  # a container has the root alone


def _split_lines(file: Path) -> list[list[str]]:
    return [line.split() for line in _lines(file) if line.strip()]


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []
