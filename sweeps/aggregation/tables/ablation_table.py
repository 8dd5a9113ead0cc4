"""The ablation table: how large each arm's error is, and whether it differs from the baseline's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from capsmodel.metrics import TEST_ERROR
from search_spaces.tables import AblationTable
from sweeps.aggregation.rendering.contents import Figure, Section
from sweeps.aggregation.rendering.measured import measured_spread_cell
from sweeps.aggregation.rendering.table import (
    Cell,
    Column,
    Table,
    Value,
    count_cell,
    data_table,
    rows_of,
    values_table,
)
from sweeps.aggregation.results.ablation_comparisons import ablation_comparisons
from sweeps.aggregation.results.arms import (
    ArmResults,
    CellState,
    arm_results,
    gap_text,
    identical_groups,
)
from sweeps.aggregation.results.comparisons import Comparison, diverged_p
from sweeps.aggregation.results.health import num_ill
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.results.targets import missed
from sweeps.aggregation.statistics.exact_tests import better_share, mcnemar_p
from sweeps.aggregation.tables.ablation_figure import ablation_figure
from sweeps.aggregation.tables.ablation_notes import ablation_notes
from sweeps.aggregation.tables.columns import (
    DIVERGED_COLUMN,
    arm_values,
    difference_of,
    difference_values,
    group_name,
    marked,
    matched_values,
    points,
    verdict_of,
    with_departures,
)
from sweeps.aggregation.tables.headlines import comparison_headline
from sweeps.aggregation.tables.notes import comparison_lead
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import TrialRecord

_PAIR_FIELDS = ("arm", "seed", "num_only_arm_wrong", "num_only_baseline_wrong", "mcnemar_p")
_OTHER_GAPS: tuple[CellState, ...] = ("failed", "missing", "unfinished")


@dataclass(frozen=True)
class ArmRow:
    """What a row of the table is of.

    Attributes:
        group: Arms with identical results, usually one.
        compared: Their difference from the baseline, None for the baseline's own.
        is_whole: Whether all trials of the sweep count, so that n is not shown.
    """

    group: Sequence[ArmResults]
    compared: Comparison | None
    is_whole: bool

    @property
    def arm(self) -> ArmResults:
        """The first of the arms."""
        return self.group[0]


def arm_rows(
    groups: Sequence[Sequence[ArmResults]], compared: Sequence[Comparison]
) -> list[ArmRow]:
    """Return the rows of groups of arms."""
    by_arm = {arm.arm.name: comparison for comparison in compared for arm in comparison.arms}
    is_whole = all(len(arm.counted) == len(arm.trials) for group in groups for arm in group)
    return [ArmRow(group, by_arm.get(group[0].arm.name), is_whole) for group in groups]


def _count(row: ArmRow) -> Cell:
    counted = count_cell(len(row.arm.test_errors), len(row.arm.trials))
    return replace(counted, text="") if row.is_whole else counted


def _error(row: ArmRow) -> Cell:
    return marked(measured_spread_cell(row.arm.test_errors.values(), TEST_ERROR), row.arm)


def _other_gaps(row: ArmRow) -> Cell:
    return Cell(gap_text(row.arm, _OTHER_GAPS), tuple(map(row.arm.count, _OTHER_GAPS)))


ARM_COLUMN = Column(
    "Arm",
    ("arm",),
    align="left",
    cell=lambda row: Cell(group_name(row.group), (row.arm.arm.name,)),
)
ERROR_COLUMNS = (
    Column("n", ("n", "num_planned"), hide_if_empty=True, cell=_count),
    Column("Error % (sd)", ("mean", "sd", "se", "min", "max"), cell=_error),
    Column(
        "Difference",
        ("difference", "low", "high", "difference_n"),
        hide_if_empty=True,
        is_answer=True,
        cell=lambda row: difference_of(row.compared, len(row.arm.test_errors)),
    ),
    Column(
        "Verdict",
        ("verdict",),
        align="left",
        hide_if_empty=True,
        is_answer=True,
        cell=lambda row: verdict_of(row.compared),
    ),
    DIVERGED_COLUMN,
    Column(
        "Not counted",
        tuple(f"num_{state}" for state in _OTHER_GAPS),
        align="left",
        hide_if_empty=True,
        cell=_other_gaps,
    ),
)
_COLUMNS = (ARM_COLUMN, *ERROR_COLUMNS)


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
    """Return a row for each pair of networks of one seed: on how many images only one errs.

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
    """Return one row per arm, in the manifest's order, compared with the baseline.

    Arms with identical results stand in one row for readers; programs get a row each, with all
    that the verdicts were made from. Holds only what trial keys decide: no times, devices or
    record ids.

    Args:
        manifest: The sweep's purpose and departures.
        arms: Arms with their trials.
        compared: Each group of arms with the baseline.
        name: The table's name, as the manifest declares it.
    """
    values = ablation_values(
        arms, compared, name, is_tuned=bool(manifest.plan and manifest.plan.tuned)
    )
    table = Table(
        name=name,
        title=f"Ablation {manifest.sweep}: test error by arm",
        lead=comparison_lead(manifest, compared, arms),
        headline=comparison_headline(compared, manifest.margin_points),
        description=one_line(manifest.description),
        columns=_COLUMNS,
        rows=rows_of(_COLUMNS, arm_rows(identical_groups(arms), compared)),
        notes=tuple(ablation_notes(manifest, arms, compared, f"{name}.csv")),
        for_programs=values,
    )
    return with_departures(manifest, table)


def ablation_values(
    arms: Sequence[ArmResults],
    compared: Sequence[Comparison],
    name: str,
    *,
    is_tuned: bool = False,
) -> Table:
    """Return one row per arm. Errors are in percent, differences in percentage points.

    Args:
        arms: Arms of the sweep, in its order.
        compared: Each group of arms with the baseline.
        name: Name of the table.
        is_tuned: Whether arms were tuned, so that a better setting may exist.
    """
    by_arm = {arm.arm.name: comparison for comparison in compared for arm in comparison.arms}
    baseline = next(arm for arm in arms if arm.is_baseline)
    firsts = {arm.arm.name: group[0].arm.name for group in identical_groups(arms) for arm in group}
    of_splits = {"num_splits": len({*baseline.splits.values()})} if baseline.splits else {}
    has_target = any(trial.target for arm in arms for trial in arm.counted.values())
    has_ill = any(map(num_ill, arms))
    of_matching = matched_values(arms, compared)
    rows = [
        arm_values(arm, firsts[arm.arm.name])
        | difference_values(by_arm.get(arm.arm.name))
        | _of_pairs(arm, baseline)
        | of_splits
        | ({"num_target_missed": len(missed(arm))} if has_target else {})
        | ({"num_ill": num_ill(arm)} if has_ill else {})
        | of_matching.get(arm.arm.name, {})
        | ({"slack_points": _slack(arm, by_arm)} if is_tuned else {})
        for arm in arms
    ]
    return values_table(name, rows)


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
    """Return how many points an arm may lie above its best, or None if that is unknown."""
    ours = [comparison.slack[0] for comparison in [compared.get(arm.arm.name)] if comparison]
    theirs = [comparison.slack[1] for comparison in compared.values()] if arm.is_baseline else []
    slack = next(iter((*ours, *theirs)), None)
    return points(slack) if slack is not None and np.isfinite(slack) else None


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
