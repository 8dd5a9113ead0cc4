"""How often importance finds what was planted, and takes chance for an effect, and its seconds.

    OMP_NUM_THREADS=1 python benchmarks/sensitivity.py > benchmarks/<date>_sensitivity_<machine>.md

Random trials of a sum with known shares of the variance, nothing of any training.
"""

import math
import os
import platform
import statistics
import time
from pathlib import Path

import numpy as np

from sweeps.aggregation.sensitivity.column import Column
from sweeps.aggregation.sensitivity.importance import fanova, ped_anova
from sweeps.aggregation.sensitivity.shadows import Excess
from sweeps.execution.worker.provenance import git_revision, package_versions

DRAWS = 30
TRIALS = (200, 100, 60, 40, 20)
SHARES = {"dominant": 0.67, "weak": 0.08, "pair": 0.2, "noise": 0.05}
SETTINGS = ("dominant", "weak", "none", "pair, first", "pair, second", "none, two choices")
METHODS = {"fANOVA": fanova, "PED-ANOVA": ped_anova}
Found = dict[str, tuple[Excess, ...]]


def main() -> None:
    print(head())
    for n in TRIALS:
        start = time.process_time()
        found = [weighed(*planted(n, seed)) for seed in range(DRAWS)]
        seconds = (time.process_time() - start) / DRAWS
        print(f"\n## {n} trials, {seconds:.1f} s of processor time a report\n")
        print(table(found), flush=True)


def weighed(columns: list[Column], objective: list[float]) -> Found:
    return {name: method(columns, objective) for name, method in METHODS.items()}


def planted(n: int, seed: int) -> tuple[list[Column], list[float]]:
    chance = np.random.default_rng(seed)
    units = chance.random((n, 5))
    spread = (units - 0.5) * math.sqrt(12)
    together = np.sign(spread[:, 3]) * np.sign(spread[:, 4])
    parts = zip(
        SHARES.values(),
        (spread[:, 0], spread[:, 1], together, chance.standard_normal(n)),
        strict=True,
    )
    objective = sum(math.sqrt(share) * part for share, part in parts)
    columns = [Column(tuple(column)) for column in units.T.tolist()]
    choice = tuple((chance.integers(0, 2, n) / 2 + 0.25).tolist())
    return [*columns, Column(choice, num_levels=2, is_choice=True)], np.asarray(objective).tolist()


def table(found: list[Found]) -> str:
    lines = ["| method | setting | bold | median excess (%) |", "| :-- | :-- | --: | --: |"]
    for method in METHODS:
        for place, setting in enumerate(SETTINGS):
            bands = [one[method][place] for one in found]
            above = sum(band.is_clear for band in bands)
            median = statistics.median(band.share.mean or 0.0 for band in bands)
            lines.append(f"| {method} | {setting} | {above} of {len(bands)} | {median:.1f} |")
        means = [[band.share.mean or 0.0 for band in one[method][:2]] for one in found]
        ranked = sum(dominant > weak for dominant, weak in means)
        lines.append(f"| {method} | dominant above weak | {ranked} of {len(found)} | |")
    return "\n".join(lines)


def head() -> str:
    shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in SHARES.items())
    return "\n".join(
        [
            "# Sensitivity: what was planted, and what is found",
            "",
            f"- machine: {os.cpu_count()} cores, {platform.system()}, no GPU, one thread",
            f"- Python {platform.python_version()}; "
            + ", ".join(f"{name} {version}" for name, version in package_versions().items()),
            f"- commit {git_revision(Path(__file__).parent)}",
            f"- {DRAWS} draws of random trials; shares of the variance: {shares}; none: no effect",
            "- the pair acts only together: the product of two signs, no main effect of either",
            '- "bold" as in the table',
        ]
    )


if __name__ == "__main__":
    main()
