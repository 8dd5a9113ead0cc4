"""How long a first sweep takes to begin: this state of the package against another, in pairs.

    git worktree add --detach /tmp/old b20bac8
    python benchmarks/start_up.py --against /tmp/old --pairs 5 [--picture FILE.png] [-- ARGUMENTS]

Each run is `capsweep run quickstart` (or with other arguments) of one tree in a new folder. The
user's cache is kept from run to run, and the tree that begins alternates. All processes below the
command are sampled 20 times a second from outside, so that any state of the package can be
measured. Prints a line of JSON a run, with what each kind of process has used, then Markdown:
seconds to the first epoch that any trial reports, seconds to the end, processor seconds of
everything, and those of a process that trains until its first epoch. The picture has each process
of one run of either tree as a bar, dark where it computes.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
_LOOK_SECONDS = 0.05
# what `capsweep` calls, which had another name before
_PROGRAM = "from sweeps import cli; getattr(cli, 'main_process', cli.main)()"
_ROLES = {  # the first that a command line holds
    "ray::": "trial",
    "default_worker.py": "trial",
    "engine.tune.engine_process": "engine",
    "engine.tune.process": "engine",  # as it was called before
    "recorder": "recorder",
    "gcs_server": "Ray's head",
    "raylet/raylet": "raylet",
    "/ray/": "other of Ray",
    _PROGRAM: "driver",
}


@dataclass
class Process:
    """A process as it was seen: seconds since the start, and processor seconds by then."""

    role: str
    seen: list[tuple[float, float]] = field(default_factory=list)

    def used_by(self, moment: float) -> float:
        """Return the processor seconds that it had used by a moment."""
        return max((used for when, used in self.seen if when <= moment), default=0.0)


@dataclass
class Run:
    """What one run took, and its processes."""

    first_epoch: float
    wall: float
    processes: list[Process]

    @property
    def processor(self) -> float:
        """Processor seconds of all processes."""
        return sum(process.used_by(self.wall) for process in self.processes)

    @property
    def worker(self) -> float:
        """The processor seconds that a process that trains had used at the first epoch, at most."""
        return max(
            process.used_by(self.first_epoch)
            for process in self.processes
            if process.role == "trial"
        )

    @property
    def by_role(self) -> dict[str, float]:
        """Processor seconds of the processes of each role."""
        used: dict[str, float] = {}
        for process in self.processes:
            used[process.role] = used.get(process.role, 0.0) + process.used_by(self.wall)
        return {role: round(seconds, 2) for role, seconds in sorted(used.items())}

    @property
    def figures(self) -> dict[str, float]:
        """What is compared."""
        return {
            "first epoch": self.first_epoch,
            "whole sweep": self.wall,
            "processor": self.processor,
            "a worker's processor": self.worker,
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--against", type=Path, required=True, help="a checkout")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("arguments", nargs="*", default=["quickstart"], help="of the launch")
    options = parser.parse_args()
    trees = {"before": options.against.resolve(), "now": ROOT}
    for tree in trees.values():  # so that no run compiles modules, or makes the user's cache
        measured(tree, options.arguments)
    runs: dict[str, list[Run]] = {"before": [], "now": []}
    for pair in range(options.pairs):
        for name in ("before", "now") if pair % 2 else ("now", "before"):
            runs[name].append(run := measured(trees[name], options.arguments))
            figures = {figure: round(value, 2) for figure, value in run.figures.items()}
            record = {"tree": name, "pair": pair, **figures, "by role": run.by_role}
            print(json.dumps(record), flush=True)
    print("\n".join(_table(runs)))
    if options.picture:
        _draw(runs, options.picture)
    return 0


def measured(tree: Path, arguments: list[str]) -> Run:
    """Run a sweep in a new folder, and sample its processes until it ends."""
    command = [sys.executable, "-P", "-c", _PROGRAM, "run", *arguments, "--gpus-per-trial", "0"]
    run = watched(command, tree)
    if not run.first_epoch:
        raise SystemExit("no trial has told an epoch")
    return run


def watched(command: list[str], tree: Path) -> Run:
    """Run a command of a tree in a new folder, and sample its processes until it ends."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users' modules are compiled once
        with (Path(folder) / "log").open("w") as log:
            started = time.monotonic()
            driver = psutil.Popen(
                command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )
            processes: dict[int, Process] = {}
            first_epoch = 0.0
            while driver.poll() is None:
                now = time.monotonic() - started
                for process in _family(driver):
                    _sample(process, processes, now)
                first_epoch = first_epoch or (now if _has_epoch(Path(folder)) else 0.0)
                time.sleep(_LOOK_SECONDS)
            wall = time.monotonic() - started
        if driver.returncode:
            raise SystemExit((Path(folder) / "log").read_text())
        return Run(first_epoch, wall, list(processes.values()))


def _family(driver: psutil.Popen) -> Iterator[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        yield psutil.Process(driver.pid)
        yield from psutil.Process(driver.pid).children(recursive=True)


def _sample(process: psutil.Process, processes: dict[int, Process], now: float) -> None:
    with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        command_line = " ".join(process.cmdline())
        role = next((role for part, role in _ROLES.items() if part in command_line), "other")
        times = process.cpu_times()
        known = processes.setdefault(process.pid, Process(role))
        # a fork has its parent's command line at first
        if known.role in {"other", "driver"} and command_line:
            known.role = role
        known.seen.append((now, times.user + times.system))


def _has_epoch(folder: Path) -> bool:
    for outbox in folder.glob("*/cells/*/outbox.jsonl"):
        if '"type":"epoch"' in outbox.read_text():
            return True
    return False


def _table(runs: dict[str, list[Run]]) -> Iterator[str]:
    yield "| median of seconds | before | now | ratio of pairs: median | lowest | highest |"
    yield "|:---|---:|---:|---:|---:|---:|"
    for figure in runs["now"][0].figures:
        before, now = ([run.figures[figure] for run in runs[name]] for name in ("before", "now"))
        ratios = [b / a for a, b in zip(before, now, strict=True)]
        medians = (statistics.median(values) for values in (before, now, ratios))
        cells = " | ".join(f"{value:.2f}" for value in (*medians, min(ratios), max(ratios)))
        yield f"| {figure} | {cells} |"


def _draw(runs: dict[str, list[Run]], file: Path) -> None:
    """Draw the median run of either tree: a bar a process, until shortly after the first epoch."""
    from matplotlib import pyplot

    chosen = {
        name: sorted(each, key=lambda run: run.first_epoch)[len(each) // 2]
        for name, each in runs.items()
    }
    end = 1.15 * max(run.first_epoch for run in chosen.values())
    heights = [len(_drawn(run, end)) for run in chosen.values()]
    figure, axes = pyplot.subplots(
        2, 1, sharex=True, height_ratios=heights, figsize=(9, 0.27 * sum(heights) + 1.4)
    )
    for axis, (name, run) in zip(axes, chosen.items(), strict=True):
        drawn = _drawn(run, end)
        for row, process in enumerate(drawn):
            for (a, used), (b, later) in zip(process.seen, process.seen[1:], strict=False):
                busy = min((later - used) / max(b - a, 1e-6), 1.0)
                axis.barh(row, b - a, left=a, height=0.75, color="#1f4e79", alpha=0.08 + 0.9 * busy)
        axis.axvline(run.first_epoch, color="#c0392b", linewidth=1.5)
        label = f"first epoch, {run.first_epoch:.1f} s"
        axis.annotate(label, (run.first_epoch, -0.9), ha="right", color="#c0392b", fontsize=8)
        axis.set_yticks(range(len(drawn)), [process.role for process in drawn], fontsize=8)
        axis.set_xlim(0, end)
        axis.invert_yaxis()
        axis.set_title(name, loc="left", fontsize=10, fontweight="bold")
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("seconds since the command was given")
    figure.tight_layout()
    figure.savefig(file, dpi=120)


def _drawn(run: Run, end: float) -> list[Process]:
    """Return the processes that matter, in the order of their beginning."""
    shown = [process for process in run.processes if process.used_by(end) > 0.2]
    return sorted(shown, key=lambda process: process.seen[0][0])


if __name__ == "__main__":
    sys.exit(main())
