"""Tables of arms by data sets with values made by hand: nothing is estimated here."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.data_set_results import (
    Counts,
    DataSetColumn,
    OverallComparison,
)
from sweeps.aggregation.results.measured_arms import MeasuredArm, tested_arms
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.statistics.two_way import TwoWay
from tests.sweeps.aggregation.known_predictions import predictions_of
from tests.sweeps.aggregation.known_sweep import by_key, finished, manifest_of

WAY = TwoWay(*map(np.asarray, (0.01, 1e-6, 1e-6, 1e-7, 1e-8)), num_seeds=3, num_clusters=360)


def interval(mean: float, half: float, n: int = 3) -> Interval:
    return Interval(n, mean, mean - half, mean + half)


def column_of(
    name: str,
    wrong: Mapping[str, Sequence[int]],
    verdicts: Mapping[str, str] | None = None,
    **more: Any,
) -> DataSetColumn:
    """Return a data set on which arms err on so many of 360 images by seed, the baseline first."""
    records = by_key(
        *(finished(arm, seed, n) for arm, row in wrong.items() for seed, n in enumerate(row))
    )
    seeds = range(max(map(len, wrong.values())))
    arms = tested_arms(arm_results(manifest_of(wrong, seeds), records), predictions_of(records))
    baseline, *others = (arm for arm in arms if arm.errors)
    cells = {
        arm.arm.arm.name: compared(arm, baseline, (verdicts or {}).get(arm.arm.arm.name))
        for arm in others
        if arm.arm.arm.name not in more.get("identical", ())
    }
    names = {arm.arm.arm.name: arm for arm in arms}
    return DataSetColumn(name, names, baseline.arm.arm.name, cells, **more)


def compared(arm: MeasuredArm, baseline: MeasuredArm, verdict: str | None) -> Comparison:
    mean = float(np.mean([*arm.errors.values()]) - np.mean([*baseline.errors.values()]))
    return Comparison(
        arms=(arm.arm,),
        difference=interval(mean, 0.012),
        seeds_alone=interval(mean, 0.01),
        way=WAY,
        num_images=360,
        p_value=0.001 if verdict else 0.4,
        adjusted_p=0.012 if verdict else 1.0,
        simultaneous=interval(mean, 0.019),
        num_together=12,
        verdict=verdict or "undecided",
        errors=arm.errors,
    )


def overall_of(
    name: str, mean: float, verdict: str = "undecided", **more: Any
) -> OverallComparison:
    scale = more.pop("scale", "points")
    fields: dict[str, Any] = {
        "counts": Counts(better=1, undecided=1, worse=0),
        "points": interval(mean, 0.006, 3),
        "change": Interval(3, 4 * mean, 4 * mean - 0.05, 4 * mean + 0.06),
        "simultaneous": interval(mean, 0.008, 3),
        "p_value": 0.004,
        "adjusted_p": 0.016,
    }
    return OverallComparison((name,), scale, verdict=verdict, **(fields | more))
