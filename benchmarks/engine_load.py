"""What the engine costs: many short trials on four nominal slots, through Ray, all recorded.

    python benchmarks/engine_load.py 500

Each trial sleeps for most of a second in its one epoch, and trains a tiny network in the rest. A
quarter of what a trial takes is the floor; what is above it is scheduling, recording and processes
that start. All trials have one configuration, as a process rehearses each new one, sleep included.
Prints a line of JSON: wall seconds from the first line of a trial to the last final record, seconds
a trial, the median of what a trial itself took, and the memory of the driver and of the engine's
process by number of trials done. Run it in the repository.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from tests.cluster.ray_nodes import RayNodes

ROOT = Path(__file__).resolve().parents[1]
SLOTS = 4
SLEEP_SECONDS = 0.9
ENGINE = "sweeps.execution.engine.tune.engine_process"


def main() -> int:
    """Run one sweep and print what it took."""
    sys.path.insert(0, str(ROOT))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trials", type=int, nargs="?", default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        print(json.dumps(measured(options.trials, Path(folder))))
    return 0


def measured(num_trials: int, folder: Path) -> dict[str, object]:
    """Measure a sweep of this number of trials."""
    from tests.end_to_end.sweep_file import write_sweep

    file = write_sweep(
        folder / "load.py",
        arms={"routing": {}},
        seeds=tuple(range(num_trials)),
        epochs=1,
        seconds=SLEEP_SECONDS,
    )
    cells = folder / "capsweep-store" / "cells"
    with open_cluster() as cluster, (folder / "log").open("w") as log:
        arguments = ["run", str(file), "--address", cluster.address, "--max-concurrent", str(SLOTS)]
        driver = subprocess.Popen(
            [str(Path(sys.executable).with_name("capsweep")), *arguments],
            cwd=folder,
            env=cluster.environment,
            stdout=log,
            stderr=log,
        )
        started, memory = 0.0, dict[int, dict[str, int]]()
        while driver.poll() is None and (done := num_done(cells)) < num_trials:
            if not started and any(cells.glob("*/outbox.jsonl")):
                started = time.monotonic()
            if done // 25 * 25 not in memory:
                memory[done // 25 * 25] = memory_of(driver.pid)
            time.sleep(0.2)
        took = time.monotonic() - started
        if driver.poll() is None:
            memory[num_trials] = memory_of(driver.pid)
        exit_code = driver.wait()
        took_with_records = time.monotonic() - started
    return {
        "trials": num_trials,
        "exit_code": exit_code,
        "seconds": round(took, 1),
        "seconds_until_all_is_recorded_and_ended": round(took_with_records, 1),
        "seconds_a_trial": round(took / num_trials, 3),
        "seconds_of_a_trial": round(statistics.median(durations(cells)), 3),
        "slots": SLOTS,
        "memory_megabytes": memory,
    }


@contextmanager
def open_cluster() -> "Generator[RayNodes]":
    """Yield a cluster whose one worker node has so many nominal cores."""
    from tests.cluster.ray_nodes import RayNodes

    nodes = RayNodes()
    try:
        nodes.start_head()
        nodes.start_worker(SLOTS)
        yield nodes
    finally:
        nodes.close()


def num_done(cells: Path) -> int:
    """Return how many cells are filled."""
    return sum(1 for _ in cells.glob("*/final.json"))


def durations(cells: Path) -> Iterator[float]:
    """Yield what each trial took, from its first line to its final record."""
    for outbox in cells.glob("*/outbox.jsonl"):
        with outbox.open() as lines:
            started = json.loads(next(lines))["time"] / 1000
        yield (outbox.parent / "final.json").stat().st_mtime - started


def memory_of(driver: int) -> dict[str, int]:
    """Return the resident megabytes of the driver and of the engine's process."""
    process = psutil.Process(driver)
    sizes = {"driver": process.memory_info().rss >> 20}
    for child in process.children():
        if ENGINE in child.cmdline():
            sizes["engine"] = child.memory_info().rss >> 20
    return sizes


if __name__ == "__main__":
    sys.exit(main())
