"""What commands that only read cost: processor seconds and memory, each in its own process.

    python -m benchmarks.readers.run 45 100 1000 10000

Prints a table: the median of three of user and system time together, and the largest memory. Stores
hold a finished design of five seeds an arm, 20 settings and 10 metrics a trial (see `stores`).
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

REPEATS = 3
SWEEP = "many"
_TRIALS = f"import sweeps; sweeps.trials({SWEEP!r}, storage={{storage!r}})"
_MAKE = """
import sys, pathlib
from benchmarks.readers.stores import make_store
make_store(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
"""
COMMANDS = ("status", "best", "trials()", "report")


def main() -> None:
    counts = [int(word) for word in sys.argv[1:]] or [45]
    print("| trials | command | processor seconds | memory (MiB) |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for count in counts:
            storage = Path(folder) / f"store-{count}"
            # in a process of its own: what it holds would count as its children's memory
            subprocess.run([sys.executable, "-c", _MAKE, str(storage), str(count)], check=True)
            for command in COMMANDS:
                repeats = 1 if command == "report" else REPEATS
                took = [measured(command, storage) for _ in range(repeats)]
                seconds = statistics.median(measurement[0] for measurement in took)
                memory = max(measurement[1] for measurement in took)
                print(f"| {count:,} | `{command}` | {seconds:.2f} | {memory:.0f} |", flush=True)


def measured(command: str, storage: Path) -> tuple[float, float]:
    """Return the processor seconds and the memory in MiB of a command in a process of its own."""
    argv = [sys.executable, "-c", _TRIALS.format(storage=str(storage))]
    if command != "trials()":
        capsweep = str(Path(sys.executable).with_name("capsweep"))
        argv = [capsweep, command, SWEEP, "--storage", str(storage)]
    process = subprocess.Popen(argv, cwd=storage.parent, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} has failed with exit code {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
