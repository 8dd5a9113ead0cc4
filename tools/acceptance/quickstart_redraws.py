"""How often quickstart's verdicts would be the same in tables drawn anew from its own errors.

    capsweep run quickstart --name many --seeds 0-9
    python -m tools.acceptance.quickstart_redraws many capsweep-store

Each table has five of the trained seeds, drawn without replacement, and as many test images as
there are, drawn with replacement. The rule is that of the tables, written out once more in
`tests/recomputed.py`.
"""

import sys
from collections import Counter
from pathlib import Path

import numpy as np

from sweeps.aggregation.results.measured_arms import MeasuredArm, tested_arms
from sweeps.aggregation.results.sweep_results import read_results
from sweeps.tracking.opening import open_store
from tests.recomputed import verdicts

NUM_TABLES = 1000
NUM_SEEDS = 5


def redraws(arms: list[MeasuredArm], random: np.random.Generator) -> Counter[str]:
    """Return how often each arm is in bold among `NUM_TABLES` tables."""
    errors = [
        {seed: image_errors.values for seed, image_errors in sorted(arm.by_image.items())}
        for arm in sorted(arms, key=lambda arm: not arm.arm.is_baseline)
    ]
    names = [arm.arm.arm.name for arm in arms if not arm.arm.is_baseline]
    (num_images,) = next(iter(errors[0].values())).shape
    in_bold: Counter[str] = Counter()
    for _ in range(NUM_TABLES):
        seeds = random.choice(sorted(errors[0]), NUM_SEEDS, replace=False)
        images = random.integers(0, num_images, num_images)
        baseline, *others = (
            {int(seed): of_arm[int(seed)][images].tolist() for seed in seeds} for of_arm in errors
        )
        rows = verdicts(others, baseline)
        in_bold.update(name for name, p in zip(names, rows, strict=True) if p < 0.05)
    return in_bold


def main(sweep: str, storage: Path) -> None:
    """Print the counts for the test error and for each evaluation that compares arms."""
    store = open_store(f"sqlite:///{storage.resolve()}/mlflow.db", storage)
    results = read_results(store, sweep)
    figures = {"test error": tested_arms(results.arms, results.predictions)}
    figures |= {
        evaluated.evaluation.kind: list(evaluated.primary.arms) for evaluated in results.evaluated
    }
    for figure, arms in figures.items():
        counts = redraws(arms, np.random.default_rng(1))
        names = [arm.arm.arm.name for arm in arms if not arm.arm.is_baseline]
        print(f"{figure}, {NUM_TABLES} tables:", {name: counts[name] for name in names})


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
