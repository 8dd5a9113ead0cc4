"""The ablation table as a paper prints it: mean, standard deviation and number of seeds."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from search_spaces.tables import GridTable, PublishedTable
from sweeps.aggregation.paper.numbers import ComparedArms
from sweeps.aggregation.rendering.table import (
    PLUS_MINUS,
    Cell,
    Column,
    Table,
    integer_cell,
    number_text,
)
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.tables.ablation_lead import covered, split_words
from sweeps.aggregation.tables.ablation_notes import (
    DIVERGED_COLUMN,
    added_notes,
    diverged_cell,
    diverged_notes,
    identical_notes,
    length_notes,
    slack_notes,
    tuning_notes,
)
from sweeps.aggregation.tables.ablation_table import arm_values, difference_values
from sweeps.aggregation.tables.departures import with_departures
from sweeps.aggregation.tables.machines import machine_notes
from sweeps.aggregation.tables.targets import marked, target_notes
from sweeps.aggregation.tables.uncounted_cells import gap_notes
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line, points_text

Printed = Literal["error", "accuracy"]
_MEAN = "test_error_percent"
_DIFFERENCE = "difference_points"


def paper_table(manifest: Manifest, arms: ComparedArms, name: str = "ablation-paper") -> Table:
    """Return `mean (sd)` and n of each arm, of the error or, where its paper does, the accuracy.

    The interval of a difference stands in square brackets. Holds only what trial keys decide.

    Args:
        manifest: The sweep's arms, baseline and cells.
        arms: Those to print.
        name: The table's.
    """
    printed = printed_of(manifest)
    table = Table(
        name=name,
        title=f"{manifest.sweep}: test {printed} by arm",
        lead=_which(printed),
        description=one_line(manifest.description),
        columns=(
            Column("Arm", ("arm",), align="left"),
            Column(f"Test {printed} (%), mean (sd)", ("mean", "sd")),
            Column("n", ("n",)),
            Column(
                "Difference [95 %]",
                ("difference", "low", "high"),
                hide_if_empty=True,
            ),
            DIVERGED_COLUMN,
        ),
        rows=tuple(_row(group, arms.by_arm, printed) for group in arms.groups),
        notes=tuple(paper_notes(manifest, arms)),
    )
    return with_departures(manifest, table)


def printed_of(manifest: Manifest) -> Printed:
    """Return what the sweep's published table prints: its accuracy, or else its error."""
    for table in manifest.tables:
        if isinstance(table, PublishedTable | GridTable):
            return table.paper_prints
    return "error"


def _which(printed: Printed) -> str:
    of_error = " (100 minus the error)" if printed == "accuracy" else ""
    return (
        f"Test {printed} in percent{of_error}: mean (standard deviation) over n seeds. In brackets "
        f"is the spread of single trainings, neither a standard error nor a confidence interval."
    )


def _row(
    group: Sequence[ArmResults], compared: Mapping[str, Comparison], printed: Printed
) -> tuple[Cell, ...]:
    arm = group[0]
    text = " = ".join(one_line(one.arm.name) for one in group)
    text += " (baseline)" * any(one.is_baseline for one in group)
    return (
        Cell(text, (arm.arm.name,)),
        marked(_mean(arm, printed), arm),
        integer_cell(len(arm.test_errors)),
        _difference(compared.get(arm.arm.name), printed),
        diverged_cell(arm),
    )


def _mean(arm: ArmResults, printed: Printed) -> Cell:
    values: dict[str, Any] = arm_values(arm, "")
    mean, deviation = values[_MEAN], values[f"{_MEAN}_sd"]
    if mean is None:
        return Cell("", (None, None))
    mean = 100 - mean if printed == "accuracy" else mean
    spread = "" if deviation is None else f" ({number_text(deviation)})"
    return Cell(f"{number_text(mean)}{spread}", (mean, deviation))


def _difference(one: Comparison | None, printed: Printed) -> Cell:
    values: dict[str, Any] = difference_values(one)
    mean, low, high = (values[f"{_DIFFERENCE}{end}"] for end in ("", "_low", "_high"))
    if one is None or mean is None:
        return Cell("", (None, None, None))
    if printed == "accuracy":
        mean, low, high = -mean, None if high is None else -high, None if low is None else -low
    text = number_text(mean, sign="+")
    if low is not None and high is not None:
        text += f" [{number_text(low, sign='+')}, {number_text(high, sign='+')}]"
    return Cell(text, (mean, low, high), is_bold=one.is_different)


def paper_notes(manifest: Manifest, arms: ComparedArms) -> Iterator[str]:
    """Yield how to read the table, and what cannot be concluded from it."""
    yield from _difference_notes(manifest, arms)
    yield from tuning_notes(manifest)
    yield from slack_notes(manifest, arms.compared)
    yield from added_notes(manifest, arms.compared)
    yield from length_notes(arms.arms)
    yield from identical_notes(arms.arms)
    yield from diverged_notes(arms.arms)
    yield from gap_notes(arms.arms)
    yield from machine_notes(arms.arms)
    yield from target_notes(arms.arms)
    yield "Of the last epoch of each training. Selection never saw the test split."


def _difference_notes(manifest: Manifest, arms: ComparedArms) -> Iterator[str]:
    compared = arms.compared
    if any(one.way for one in compared):
        yield (
            f"Difference: from '{one_line(arms.baseline)}' in percentage points, paired by "
            f"seed; in brackets its 95 % interval for {covered(compared)}."
        )
        if words := split_words(manifest):
            yield words
        yield (
            "Bold: different, by a verdict that holds for all comparisons together (Holm). What "
            "is not bold is not shown to be equal."
        )
    if equivalent := [one for one in compared if one.verdict == "equivalent"]:
        within = f"{PLUS_MINUS}{points_text(manifest.margin_points or 0.0)}"
        yield f"Equivalent to it within {within}, as declared: {_named(equivalent)}."
    alone = [one for one in compared if one.way is None and one.difference.mean is not None]
    if alone:
        yield (
            f"{_named(alone)}: brackets, where there are any, cover new seeds alone; nothing is "
            f"bold."
        )


def _named(compared: Sequence[Comparison]) -> str:
    return ", ".join(" = ".join(one_line(a.arm.name) for a in one.arms) for one in compared)
