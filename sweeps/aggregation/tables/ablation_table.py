"""The ablation table: how large each arm's error is, and whether it differs from the baseline's."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from capsmodel.metrics import TEST_ERROR
from search_spaces.tables import AblationTable
from sweeps.aggregation.rendering.contents import Figure, Section
from sweeps.aggregation.rendering.measured import measured_spread_cell, shown_interval, shown_value
from sweeps.aggregation.rendering.table import (
    ALONE_MARK,
    Cell,
    Column,
    Table,
    Value,
    count_cell,
    data_table,
    difference_cell,
    text_cell,
)
from sweeps.aggregation.results.arms import ArmResults, arm_results, identical_groups
from sweeps.aggregation.results.comparisons import (
    Comparison,
    ablation_comparisons,
    diverged_p,
    diverged_share,
)
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.statistics.exact_tests import better_share, mcnemar_p
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.tables.ablation_figure import ablation_figure
from sweeps.aggregation.tables.ablation_notes import (
    DIVERGED_COLUMN,
    ablation_words,
    diverged_cell,
    is_alone,
)
from sweeps.aggregation.tables.departures import with_departures
from sweeps.aggregation.tables.sweep_results import Results
from sweeps.aggregation.tables.targets import marked, matched_values, missed
from sweeps.aggregation.tables.uncounted_cells import OTHER_GAPS_COLUMN, other_gaps_cell
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import TrialRecord

_PAIR_FIELDS = ("arm", "seed", "num_only_arm_wrong", "num_only_baseline_wrong", "mcnemar_p")
ARM_COLUMNS = (
    Column("Arm", ("arm",), align="left"),
    Column("n", ("n", "num_planned"), hide_if_empty=True),
    Column("Error % (sd)", ("mean", "sd", "se", "min", "max")),
    Column(
        "Difference",
        ("difference", "low", "high", "difference_n"),
        hide_if_empty=True,
        is_answer=True,
    ),
    Column("Verdict", ("verdict",), align="left", hide_if_empty=True, is_answer=True),
    DIVERGED_COLUMN,
    OTHER_GAPS_COLUMN,
)


def make_ablation(declared: AblationTable, results: Results) -> Section:
    """Return the table and the figure of all arms.

    Raises:
        BadInput: If the sweep is a search.
    """
    manifest = results.manifest
    if manifest.search is not None:
        raise BadInput(
            f"Table '{declared.name}' compares arms with a baseline, and the search "
            f"'{manifest.sweep}' has none: declare a confirmation table instead."
        )
    arms, compared = results.arms, results.compared
    pairs = pairs_table(arms, results.predictions, f"{declared.name}-pairs")
    table = compared_table(manifest, arms, compared, declared.name)
    return Section(
        name=declared.name,
        kind=declared.kind,
        tables=(table,),
        data=(pairs,) if pairs else (),
        figures=(Figure(declared.name, partial(ablation_figure, manifest, arms, compared)),),
    )


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
            ours = predictions.get(trial.trial_key)
            theirs = predictions.get(other.trial_key) if other and other is not trial else None
            if ours and theirs and _show_the_same(ours, theirs):
                wrong, against = ours.test.is_wrong, theirs.test.is_wrong
                counts = (int((wrong & ~against).sum()), int((against & ~wrong).sum()))
                rows.append((arm.arm.name, seed, *counts, mcnemar_p(wrong, against)))
    return data_table(name, _PAIR_FIELDS, rows) if rows else None


def _show_the_same(ours: Predictions, theirs: Predictions) -> bool:
    is_of_one = ours.data_fingerprint == theirs.data_fingerprint
    return is_of_one and ours.test.shows_the_same(theirs.test)


def compared_table(
    manifest: Manifest, arms: Sequence[ArmResults], compared: Sequence[Comparison], name: str
) -> Table:
    """Return one row an arm, in the manifest's order, compared with the baseline.

    Arms with identical results stand in one row for readers; programs get a row each, with all
    that the verdicts were made from. Holds only what trial keys decide: no times, devices or
    record ids.

    Args:
        manifest: The sweep's purpose and departures.
        arms: Arms with their trials.
        compared: Each group of arms with the baseline.
        name: The table's name, as the manifest declares it.
    """
    by_arm = {arm.arm.name: one for one in compared for arm in one.arms}
    is_whole = all(len(arm.counted) == len(arm.trials) for arm in arms)
    rows = [
        arm_row(group, by_arm.get(group[0].arm.name), is_whole=is_whole)
        for group in identical_groups(arms)
    ]
    lead, notes = ablation_words(manifest, arms, compared, f"{name}.csv")
    is_tuned = manifest.plan is not None and bool(manifest.plan.tuned)
    values = ablation_values(arms, by_arm, name, is_tuned=is_tuned)
    table = Table(
        name=name,
        title=f"Ablation {manifest.sweep}: test error by arm",
        lead=lead,
        description=one_line(manifest.description),
        columns=ARM_COLUMNS,
        rows=tuple(rows),
        notes=notes,
        for_programs=with_departures(manifest, values),
    )
    return with_departures(manifest, table)


def arm_row(
    group: Sequence[ArmResults], compared: Comparison | None, *, is_whole: bool
) -> tuple[Cell, ...]:
    """Return the row of arms with identical results.

    Args:
        group: The arms, usually one.
        compared: Their difference, None for the baseline's own.
        is_whole: Whether all trials of the sweep count, so that nothing is said of n.
    """
    arm = group[0]
    errors = arm.test_errors
    counted = count_cell(len(errors), len(arm.trials))
    text = " = ".join(one_line(one.arm.name) for one in group)
    text += " (baseline)" * any(one.is_baseline for one in group)
    return (
        Cell(text, (arm.arm.name,)),
        replace(counted, text="") if is_whole else counted,
        marked(measured_spread_cell(errors.values(), TEST_ERROR), arm),
        difference_of(compared, len(errors)),
        verdict_of(compared),
        diverged_cell(arm),
        other_gaps_cell(arm),
    )


def difference_of(compared: Comparison | None, n: int) -> Cell:
    """Return the difference from the baseline in points, empty for the baseline's own.

    One whose interval leaves out 0 alone, and not together with all others, is marked.
    """
    if compared is None:
        return Cell("", (None, None, None, None))
    cell = difference_cell(
        shown_interval(compared.difference, TEST_ERROR), n, is_bold=compared.is_different
    )
    return replace(cell, text=f"{cell.text} {ALONE_MARK}") if is_alone(compared) else cell


def has_verdict(one: Comparison) -> bool:
    """Return whether there is a difference, or a verdict on how often arms diverge."""
    return one.difference.mean is not None or one.is_different


def verdict_of(compared: Comparison | None) -> Cell:
    """Return the verdict on a difference."""
    if compared is None or not has_verdict(compared):
        return Cell("", (None,))
    cell = text_cell(compared.verdict)
    return Cell(cell.text, cell.values, is_bold=compared.is_different)


def ablation_values(
    arms: Sequence[ArmResults],
    compared: Mapping[str, Comparison],
    name: str,
    *,
    is_tuned: bool = False,
) -> Table:
    """Return one row an arm. Errors are in percent, differences in percentage points.

    Args:
        arms: Arms of the sweep, in its order.
        compared: By arm; the baseline, and what is identical with it, has none.
        name: Name of the table.
        is_tuned: Whether arms were tuned, so that tuning has left something open.
    """
    baseline = next(arm for arm in arms if arm.is_baseline)
    firsts = {one.arm.name: group[0].arm.name for group in identical_groups(arms) for one in group}
    of_splits = {"num_splits": len({*baseline.splits.values()})} if baseline.splits else {}
    has_target = any(trial.target for arm in arms for trial in arm.counted.values())
    of_matching = matched_values(arms, [*compared.values()])
    rows = [
        arm_values(arm, firsts[arm.arm.name])
        | difference_values(compared.get(arm.arm.name))
        | _of_pairs(arm, baseline)
        | of_splits
        | ({"num_target_missed": len(missed(arm))} if has_target else {})
        | of_matching.get(arm.arm.name, {})
        | ({"slack_points": _slack(arm, compared)} if is_tuned else {})
        for arm in arms
    ]
    return data_table(name, [*rows[0]], ([*row.values()] for row in rows))


def arm_values(arm: ArmResults, first: str) -> dict[str, Value]:
    """Return the results of an arm's trials.

    Args:
        arm: An arm of the sweep.
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
    """Return the values of a comparison; each is None where there is no comparison."""
    way = one.way if one else None
    shared = way.shared if way else None
    return {
        "verdict": one.verdict if one and has_verdict(one) else None,
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
        "shared_seed_part_points": _points(np.sqrt(shared.over_seeds) if shared else None),
        "holds_by_own_seeds": bool(shared.is_apart) if shared else None,
        "image_part_points": _points(np.sqrt(way.over_images) if way else None),
        "detectable_points": _points(one.detectable if one else None),
        "equivalence_p": one.equivalent_p if one else None,
        "log_e_value": one.log_e if one else None,
    }


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


def _of_pairs(arm: ArmResults, baseline: ArmResults) -> dict[str, Value]:
    if arm is baseline:
        return dict.fromkeys(("better_share", "better_low", "better_high", "diverged_p"))
    better = better_share(*map(arm.by_split, _common(arm.test_errors, baseline.test_errors)))
    return {
        "better_share": better.count / better.total if better.total else None,
        "better_low": better.low,
        "better_high": better.high,
        "diverged_p": diverged_p(arm, baseline),
    }


def _common(
    ours: Mapping[int, float], theirs: Mapping[int, float]
) -> tuple[Mapping[int, float], Mapping[int, float]]:
    """Return both, with only the seeds that both have."""
    seeds = [seed for seed in ours if seed in theirs]
    return {seed: ours[seed] for seed in seeds}, {seed: theirs[seed] for seed in seeds}


def _slack(arm: ArmResults, compared: Mapping[str, Comparison]) -> float | None:
    """Return how many points an arm may lie above its best, None where it is not known."""
    ours = [one.slack[0] for one in [compared.get(arm.arm.name)] if one]
    theirs = [one.slack[1] for one in compared.values()] if arm.is_baseline else []
    slack = next(iter((*ours, *theirs)), None)
    return _points(slack) if slack is not None and np.isfinite(slack) else None


def ablation_table(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    name: str = "ablation",
    predictions: Mapping[str, Predictions] | None = None,
) -> Table:
    """Return the ablation table of a sweep's records.

    Args:
        manifest: The sweep's arms, baseline and cells.
        records: Records by trial key; their order changes nothing.
        name: The table's name, as the manifest declares it.
        predictions: Predictions by trial key. Without them intervals are over seeds alone, and
            nothing is bold.
    """
    arms = arm_results(manifest, records)
    return compared_table(
        manifest, arms, ablation_comparisons(manifest, arms, predictions or {}), name
    )
