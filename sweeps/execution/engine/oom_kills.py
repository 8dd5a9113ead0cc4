"""How often the kernel has killed a process of this cgroup for memory."""

from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_COUNTED_IN = {  # controllers, as /proc/self/cgroup names them -> where their cgroup counts
    "": (_ROOT, "memory.events"),  # version 2, one hierarchy for all
    "memory": (_ROOT / "memory", "memory.oom_control"),
}


def num_oom_kills(proc: Path = Path("/proc")) -> int:
    """Return the count of the cgroup, else of the machine, else 0."""
    for file in (*_of_cgroup(proc), proc / "vmstat"):
        try:
            lines = file.read_text().splitlines()
        except OSError:
            continue
        counts = [line.split()[1] for line in lines if line.startswith("oom_kill ")]
        if counts:
            return int(counts[0])
    return 0


def _of_cgroup(proc: Path) -> list[Path]:
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return []
    files: list[Path] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if counted := _COUNTED_IN.get(controllers):
            root, name = counted
            files += [
                root / path.lstrip("/") / name,
                root / name,
            ]  # a container has the root
    return files
