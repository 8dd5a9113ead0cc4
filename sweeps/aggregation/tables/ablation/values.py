"""All that the verdicts of an ablation table were made from: what programs read of it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import measured_spread_cell, shown_value
from sweeps.aggregation.rendering.table import Table, Value, data_table
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.identical import grouped
from sweeps.aggregation.results.judged import Predictions
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.statistics.pairs import is_better_share, mcnemar_p
from sweeps.aggregation.tables.ablation.diverged import diverged_p, diverged_share
from sweeps.aggregation.tables.targets import missed

_PAIR_FIELDS = ("arm", "seed", "num_only_arm_wrong", "num_only_baseline_wrong", "mcnemar_p")


def ablation_values(
    arms: Sequence[ArmResults],
    compared: Mapping[str, Comparison],
    name: str,
    *,
    is_tuned: bool = False,
) -> Table:
    """Return one row an arm. Errors are in percent, differences in percentage points.

    Args:
        arms: Of the sweep, in its order.
        compared: By arm; the baseline, and what is identical with it, has none.
        name: Of the table.
        is_tuned: Whether arms were tuned, so that tuning has left something open.
    """
    baseline = next(arm for arm in arms if arm.is_baseline)
    firsts = {one.arm.name: group[0].arm.name for group in grouped(arms) for one in group}
    of_splits = {"num_splits": len({*baseline.splits.values()})} if baseline.splits else {}
    has_target = any(trial.target for arm in arms for trial in arm.counted.values())
    rows = [
        arm_values(arm, firsts[arm.arm.name])
        | difference_values(compared.get(arm.arm.name))
        | _of_pairs(arm, baseline)
        | of_splits
        | ({"num_target_missed": len(missed(arm))} if has_target else {})
        | ({"slack_points": _slack(arm, compared)} if is_tuned else {})
        for arm in arms
    ]
    return data_table(name, [*rows[0]], ([*row.values()] for row in rows))


def pairs_table(
    arms: Sequence[ArmResults], predictions: Mapping[str, Predictions], name: str
) -> Table | None:
    """Return one row a pair of networks of one seed: on how many images only one errs.

    None where no pair can be compared image by image.
    """
    baseline = next(arm for arm in arms if arm.is_baseline)
    rows: list[tuple[Value, ...]] = []
    for arm in arms:
        for seed, trial in arm.counted.items():
            other = baseline.counted.get(seed)
            own = predictions.get(trial.trial_key)
            theirs = predictions.get(other.trial_key) if other and other is not trial else None
            if own and theirs and _show_the_same(own, theirs):
                wrong, against = own.test.is_wrong, theirs.test.is_wrong
                counts = (int((wrong & ~against).sum()), int((against & ~wrong).sum()))
                rows.append((arm.arm.name, seed, *counts, mcnemar_p(wrong, against)))
    return data_table(name, _PAIR_FIELDS, rows) if rows else None


def _show_the_same(own: Predictions, theirs: Predictions) -> bool:
    is_of_one = own.data_fingerprint == theirs.data_fingerprint
    return is_of_one and own.test.shows_the_same(theirs.test)


def arm_values(arm: ArmResults, first: str) -> dict[str, Value]:
    """Return what an arm's trials came to, whatever it is compared with.

    Args:
        arm: Of the sweep.
        first: The first arm of those with identical results, itself where there is no other.
    """
    spreads = measured_spread_cell(arm.test_errors.values(), TEST_ERROR).values
    names = ("", "_sd", "_se", "_min", "_max")
    spread = zip(names, spreads, strict=True)
    diverged = diverged_share(arm)
    return {
        "arm": arm.arm.name,
        "is_baseline": arm.is_baseline,
        "identical_to": None if first == arm.arm.name else first,
        "n": len(arm.test_errors),
        "num_planned": len(arm.trials),
        **{f"test_error_percent{ending}": value for ending, value in spread},
        "num_parameters": arm.arm.num_parameters,
        "num_diverged": arm.count("diverged"),
        "diverged_share_low": diverged.low,
        "diverged_share_high": diverged.high,
        "num_failed": arm.count("failed"),
        "num_missing": arm.count("missing"),
        "num_unfinished": arm.count("unfinished"),
    }


def difference_values(one: Comparison | None) -> dict[str, Value]:
    """Return what a comparison came to; every value is None where there is none."""
    way = one.way if one else None
    return {
        "verdict": one.verdict if one and one.difference.n else None,
        "difference_n": one.difference.n if one else None,
        **_ends("difference_points", one.difference if one else None),
        "covers_images": way is not None if one else None,
        "num_images": one.num_images if one else None,
        "num_objects": way.num_clusters if way else None,
        "p": one.p_value if one else None,
        "adjusted_p": one.adjusted_p if one else None,
        **_ends("simultaneous_points", one.simultaneous if one else None),
        **_ends("seeds_alone_points", one.seeds_alone if one else None),
        "standard_error_points": _points(way.standard_error if way else None),
        "degrees_of_freedom": float(way.degrees) if way else None,
        "seed_part_points": _points(np.sqrt(way.over_seeds) if way else None),
        "image_part_points": _points(np.sqrt(way.over_images) if way else None),
        "detectable_points": _points(one.detectable if one else None),
        "equivalence_p": one.equivalent_p if one else None,
        "log_e_value": one.log_e if one else None,
    }


def _of_pairs(arm: ArmResults, baseline: ArmResults) -> dict[str, Value]:
    if arm is baseline:
        return dict.fromkeys(("better_share", "better_low", "better_high", "diverged_p"))
    better = is_better_share(*map(arm.by_split, _common(arm.test_errors, baseline.test_errors)))
    return {
        "better_share": better.count / better.total if better.total else None,
        "better_low": better.low,
        "better_high": better.high,
        "diverged_p": diverged_p(arm, baseline),
    }


def _slack(arm: ArmResults, compared: Mapping[str, Comparison]) -> float | None:
    """Return how far an arm may lie above its best in points, None where nobody can say."""
    own = [one.slack[0] for one in [compared.get(arm.arm.name)] if one]
    theirs = [one.slack[1] for one in compared.values()] if arm.is_baseline else []
    slack = next(iter((*own, *theirs)), None)
    return _points(slack) if slack is not None and np.isfinite(slack) else None


def _common(
    own: Mapping[int, float], theirs: Mapping[int, float]
) -> tuple[Mapping[int, float], Mapping[int, float]]:
    """Return both with the seeds that both have."""
    seeds = [seed for seed in own if seed in theirs]
    return {seed: own[seed] for seed in seeds}, {seed: theirs[seed] for seed in seeds}


def _ends(name: str, interval: Interval | None) -> dict[str, Value]:
    if interval is None:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    return {
        name: _points(interval.mean),
        f"{name}_low": _points(interval.low),
        f"{name}_high": _points(interval.high),
    }


def _points(value: Any) -> float | None:
    return shown_value(None if value is None else float(value), TEST_ERROR)
