"""How long the two searches on digits take, and what the confirmed best is worth.

    python benchmarks/search.py > benchmarks/reports/<date>_search_<machine>.md

Each repetition is the whole command in a new folder. Several trials run at once, so which
proposals TPE makes depends on which trial ended first: repetitions of `capsule_search` differ.
"""

import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from sweeps.execution.worker.provenance import git_revision, package_versions

REPETITIONS = 3
CAPSWEEP = str(Path(sys.executable).with_name("capsweep"))
SEARCHES = {"quickstart_search": (), "capsule_search": ("--trials", "40")}


def main() -> None:
    rows: list[str] = []
    for sweep, options in SEARCHES.items():
        for repetition in range(1, REPETITIONS + 1):
            with tempfile.TemporaryDirectory() as name:
                seconds = timed(Path(name), ["run", sweep, *options])
                reports = Path(name) / "reports" / sweep
                rows.append(row(f"{sweep} {' '.join(options)}", repetition, seconds, reports))
                print(rows[-1], file=sys.stderr)
    print(report(rows))


def timed(folder: Path, arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([CAPSWEEP, *arguments], cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - start


def row(command: str, repetition: int, seconds: float, reports: Path) -> str:
    trials = pd.read_csv(reports / "trials.csv")
    stopped = trials["stopped_epoch"].notna()
    full = trials.loc[~stopped & (trials["seed"] == 0), "outcome"].eq("finished").sum()
    figures = [f"{seconds:.0f}", str(len(trials)), str(full), str(stopped.sum()), *best(reports)]
    return f"| {command} | {repetition} | {' | '.join(figures)} |"


def best(reports: Path) -> tuple[str, str]:
    """Return the confirmed best's validation error and its difference from the reference."""
    path = reports / "confirmation.md"
    if not path.exists():
        return "-", "-"
    lines = path.read_text(encoding="utf-8").splitlines()
    first = next(line for line in lines if line.startswith("| 1 |"))
    cells = [cell.strip() for cell in first.split("|")]
    return cells[4], cells[6].strip("*")


def report(rows: list[str]) -> str:
    lines = [
        "# Searches on digits, as whole commands",
        "",
        f"- machine: {os.cpu_count()} cores, {platform.system()}, no GPU; load at the end "
        f"{os.getloadavg()[0]:.1f}",
        "- " + ", ".join(f"{name} {version}" for name, version in package_versions().items()),
        f"- commit {git_revision(Path(__file__).parent)}",
        "- seconds: of the whole command, with the start of Ray, the confirmation and the report",
        "- difference: the confirmed best less the reference, in points of validation error, five "
        "fresh seeds, paired 95 % t interval; the reference is the median of the first ten random "
        "proposals, those of them that ran to full length",
        "",
        "| capsweep run | | seconds | trials | full length in the search | stopped early "
        "| best, validation error (%) | difference (points) |",
        "| :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
