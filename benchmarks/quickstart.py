"""How long a newcomer waits: quickstart, quickstart again, and the help, as whole processes.

    python benchmarks/quickstart.py > benchmarks/reports/<date>_quickstart_<machine>.md

Each figure is wall-clock seconds of the whole command, in a new folder a repetition, after one
repetition that is not counted.
"""

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from sweeps.execution.worker.provenance import git_revision, package_versions

REPETITIONS = 3
CAPSWEEP = str(Path(sys.executable).with_name("capsweep"))
COMMANDS = {
    "run quickstart": "25 trials from nothing",
    "plan quickstart": "all cells filled",
    "run quickstart again": "trains nothing",
    "best quickstart": "",
    "--help": "",
}


def main() -> None:
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    accuracies: list[float] = []
    for repetition in range(REPETITIONS + 1):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for command in COMMANDS:
                took = timed(folder, command.removesuffix(" again").split())
                if repetition:
                    seconds[command].append(took)
            accuracies.append(baseline_accuracy(folder))
    print(report(seconds, accuracies))


def timed(folder: Path, arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([CAPSWEEP, *arguments], cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - start


def baseline_accuracy(folder: Path) -> float:
    trials = pd.read_csv(folder / "reports" / "quickstart" / "trials.csv")
    return 1 - trials[trials["arm"] == "3 iterations"]["test_error"].mean()


def report(seconds: dict[str, list[float]], accuracies: list[float]) -> str:
    lines = [
        "# Quickstart, as a newcomer waits for it",
        "",
        f"- machine: {os.cpu_count()} cores, {processor()}, {platform.system()}, no GPU",
        f"- Python {platform.python_version()}; "
        + ", ".join(f"{name} {version}" for name, version in package_versions().items()),
        f"- commit {git_revision(Path(__file__).parent)}",
        f"- {REPETITIONS} repetitions after one not counted; load of the machine at the end: "
        f"{os.getloadavg()[0]:.1f}",
        "- mean test accuracy of the baseline, one figure where all repetitions agree: "
        + ", ".join(f"{100 * accuracy:.2f} %" for accuracy in sorted(set(accuracies))),
        "",
        "| capsweep ... | | median s | least s | most s |",
        "| :--- | :--- | ---: | ---: | ---: |",
    ]
    for command, note in COMMANDS.items():
        took = seconds[command]
        lines.append(
            f"| {command} | {note} | {statistics.median(took):.2f} | {min(took):.2f} "
            f"| {max(took):.2f} |"
        )
    return "\n".join(lines)


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    main()
