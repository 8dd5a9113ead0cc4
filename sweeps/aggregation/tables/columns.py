"""The columns, cells and values that several kinds of tables have."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from capsmodel.metrics import TEST_ERROR
from capsmodel.spelling import short_names
from sweeps.aggregation.rendering.measured import measured_spread_cell, shown_interval, shown_value
from sweeps.aggregation.rendering.table import (
    ALONE_MARK,
    Cell,
    Column,
    Table,
    Value,
    difference_cell,
    text_cell,
)
from sweeps.aggregation.results.arms import GAPS, ArmResults, gap_text
from sweeps.aggregation.results.comparisons import Comparison, diverged_share
from sweeps.aggregation.results.departures import departure_sentence
from sweeps.aggregation.results.health import num_ill
from sweeps.aggregation.results.targets import extra_tests, has_window, matched, missed
from sweeps.aggregation.sensitivity.setting_axis import value_text
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.statistics.reach import Reach
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_plan import ManifestSearch, Plain
from sweeps.records.plain_text import one_line

MISSED_MARK = "\N{DAGGER}"
"""Behind a value with trials that missed their target, and before the note that says so."""

ILL_MARK = "\N{SECTION SIGN}"
"""Behind a value with trials that have alarms, and before the notes that say which."""

GAP_FIELDS = tuple(f"num_{state}" for state in GAPS)


def gap_cell(arm: ArmResults) -> Cell:
    """Return how many of an arm's cells do not count. Values: `GAP_FIELDS`."""
    return Cell(gap_text(arm), tuple(arm.count(state) for state in GAPS))


def diverged_cell(arm: ArmResults) -> Cell:
    """Return `2 of 5 (5 % to 85 %)`, or no text if none diverged. Values: count, low, high."""
    diverged = diverged_share(arm)
    values = (int(diverged.count), diverged.low, diverged.high)
    if not diverged.count:
        return Cell("", values)
    ends = f"({diverged.low:.0%} to {diverged.high:.0%})".replace("%", " %")
    return Cell(f"{diverged.count:.0f} of {diverged.total} {ends}", values)


GAP_COLUMN = Column("Not counted", GAP_FIELDS, "left", hide_if_empty=True)
DIVERGED_COLUMN = Column(
    "Diverged",
    ("num_diverged", "diverged_share_low", "diverged_share_high"),
    align="left",
    hide_if_empty=True,
    cell=lambda row: diverged_cell(row.arm),
)
"""Of rows that have an arm."""


def group_name(group: Sequence[ArmResults]) -> str:
    """Return the names of arms with identical results, and whether the baseline is one of them."""
    names = " = ".join(arm.shown_name for arm in group)
    return names + " (baseline)" * any(arm.is_baseline for arm in group)


def marked(cell: Cell, arm: ArmResults) -> Cell:
    """Return a cell, marked where trials of its value missed their target or have alarms."""
    is_marked = cell.text and missed(arm)
    cell = replace(cell, text=f"{cell.text} {MISSED_MARK}") if is_marked else cell
    return with_ill_mark(cell, arm)


def with_ill_mark(cell: Cell, arm: ArmResults) -> Cell:
    """Return a cell, marked where its value includes trials that have alarms."""
    is_ill = cell.text and num_ill(arm)
    return replace(cell, text=f"{cell.text} {ILL_MARK}") if is_ill else cell


def ill_columns(arms: Iterable[ArmResults]) -> tuple[Column, ...]:
    """Return the column, for programs, of how many trials have alarms; none where no trial has."""
    has_ill = any(map(num_ill, arms))
    return (Column("Ill", ("num_ill",), hide_if_empty=True),) * has_ill


def ill_cell(arm: ArmResults | None) -> Cell:
    """Return the cell of that column."""
    return Cell("", (num_ill(arm) if arm else None,))


def point_cell(params: Mapping[str, Plain], search: ManifestSearch) -> Cell:
    """Return a point's cell, empty for the base: short names for readers, JSON for programs."""
    names = short_names([dimension.path for dimension in search.dimensions])
    paths = {dimension.name: dimension.path for dimension in search.dimensions}
    text = ", ".join(
        f"{names.get(paths.get(name, name), name)} {value_text(value)}"
        for name, value in params.items()
    )
    return Cell(one_line(text), (json.dumps(dict(params), sort_keys=True),))


def with_departures(manifest: Manifest, table: Table) -> Table:
    """Return the table with what its launch changed, as its warning and as a column in CSV.

    So is what programs read in its place. A table of a sweep launched as declared comes back as it
    is.
    """
    return departed(departure_sentence(manifest), table)


def departed(sentence: str, table: Table) -> Table:
    """Return the same with the sentence, "" for what was launched as declared."""
    if not sentence:
        return table
    column = Column("Departures", ("departures",), align="left", hide_if_empty=True)
    return replace(
        table,
        warning=sentence,
        columns=(*table.columns, column),
        rows=tuple((*row, Cell("", (sentence,))) for row in table.rows),
        for_programs=table.for_programs and departed(sentence, table.for_programs),
    )


def is_alone(comparison: Comparison) -> bool:
    """Whether the arm's own interval leaves out 0, but its simultaneous interval does not."""
    together = comparison.simultaneous
    is_within = together is not None and not together.excludes_zero
    return comparison.verdict == "undecided" and is_within and comparison.difference.excludes_zero


def is_of_objects(comparison: Comparison) -> bool:
    """Return whether several of the images are of one object."""
    return comparison.way is not None and comparison.way.num_clusters < comparison.num_images


def difference_of(compared: Comparison | None, n: int) -> Cell:
    """Return the difference from the baseline in points, empty for the baseline's own.

    It is marked if its interval leaves out 0 only by itself.
    """
    if compared is None:
        return Cell("", (None, None, None, None))
    cell = difference_cell(
        shown_interval(compared.difference, TEST_ERROR), n, is_bold=compared.is_different
    )
    return replace(cell, text=f"{cell.text} {ALONE_MARK}") if is_alone(compared) else cell


def _has_verdict(comparison: Comparison) -> bool:
    """Return whether there is a difference, or a verdict on how often arms diverge."""
    return comparison.difference.mean is not None or comparison.is_different


def verdict_of(compared: Comparison | None) -> Cell:
    """Return the verdict on a difference."""
    if compared is None or not _has_verdict(compared):
        return Cell("", (None,))
    return replace(text_cell(compared.verdict), is_bold=compared.is_different)


def arm_values(arm: ArmResults, first: str) -> dict[str, Value]:
    """Return the results of an arm's trials.

    Args:
        arm: An arm of the sweep.
        first: The first arm of those with identical results, itself where there is no other.
    """
    spreads = measured_spread_cell(arm.test_errors.values(), TEST_ERROR).values
    spread = zip(("", "_sd", "_se", "_min", "_max"), spreads, strict=True)
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


def difference_values(comparison: Comparison | None) -> dict[str, Value]:
    """Return the values of a comparison. All are None without one."""
    way = comparison.way if comparison else None
    shared = way.shared if way else None
    return {
        "verdict": comparison.verdict if comparison and _has_verdict(comparison) else None,
        "difference_n": comparison.difference.n if comparison else None,
        **interval_values("difference_points", comparison.difference if comparison else None),
        "covers_images": way is not None if comparison else None,
        "num_images": comparison.num_images if comparison else None,
        "num_objects": way.num_clusters if way else None,
        "p": comparison.p_value if comparison else None,
        "adjusted_p": comparison.adjusted_p if comparison else None,
        **interval_values("simultaneous_points", comparison.simultaneous if comparison else None),
        **interval_values("seeds_alone_points", comparison.seeds_alone if comparison else None),
        "standard_error_points": points(way.standard_error if way else None),
        "degrees_of_freedom": float(way.degrees) if way else None,
        "seed_part_points": points(np.sqrt(way.over_seeds) if way else None),
        "shared_seed_part_points": points(np.sqrt(shared.over_seeds) if shared else None),
        "holds_by_own_seeds": bool(shared.is_apart) if shared else None,
        "image_part_points": points(np.sqrt(way.over_images) if way else None),
        **reach_values(comparison.reach if comparison else None),
        "equivalence_p": comparison.equivalent_p if comparison else None,
        "log_e_value": comparison.log_e if comparison else None,
    }


def interval_values(name: str, interval: Interval | None) -> dict[str, Value]:
    """Return an interval's mean and ends in points. All are None without one."""
    ends = (interval.mean, interval.low, interval.high) if interval else (None,) * 3
    return {f"{name}{end}": points(v) for end, v in zip(("", "_low", "_high"), ends, strict=True)}


def reach_values(reach: Reach | None) -> dict[str, Value]:
    """Return what a next table finds, in points; None where it is not known, or cannot be."""
    columns = {
        "detectable_points": "more",
        "detectable_less_points": "less",
        "half_detectable_points": "half_more",
        "half_detectable_less_points": "half_less",
    }
    return {
        f"{column}{end}": points(getattr(sizes, size)) if sizes else None
        for column, direction in columns.items()
        for sizes in [getattr(reach, direction) if reach else None]
        for end, size in (("", "middle"), ("_low", "low"), ("_high", "high"))
    }


def points(value: Any) -> float | None:
    """Return a difference of test errors in percentage points; None stays."""
    return shown_value(None if value is None else float(np.ravel(value)[0]), TEST_ERROR)


def matched_values(
    arms: Sequence[ArmResults], compared: Sequence[Comparison]
) -> Mapping[str, dict[str, Value]]:
    """Return by arm, for programs, whether it is matched and how many of its trials never arrived.

    Empty where no trial stops in a window. Where data have an extra test, no arm is called matched:
    the test images may be of a kind on which nothing was to be equal.
    """
    if not has_window(arms):
        return {}
    are_matched = {} if extra_tests(arms) else matched(arms, compared)
    return {
        arm.arm.name: {
            "num_target_missed": len(missed(arm)),
            "is_matched": are_matched.get(arm.arm.name),
        }
        for arm in arms
    }
