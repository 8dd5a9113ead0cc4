"""The ablation table as a paper prints it: mean, standard deviation and number of seeds."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

from search_spaces.tables import GridTable, PublishedTable
from sweeps.aggregation.rendering.table import (
    PLUS_MINUS,
    Cell,
    Column,
    Needed,
    Table,
    integer_cell,
    number_text,
    rows_of,
)
from sweeps.aggregation.results.compared_arms import ComparedArms
from sweeps.aggregation.results.coverage import covered, split_sentence
from sweeps.aggregation.results.design_sentences import tuning_sentences
from sweeps.aggregation.results.targets import epoch_of_test_text
from sweeps.aggregation.tables import notes
from sweeps.aggregation.tables.ablation_notes import length_notes, slack_notes
from sweeps.aggregation.tables.ablation_table import ARM_COLUMN, ArmRow, arm_rows
from sweeps.aggregation.tables.columns import (
    DIVERGED_COLUMN,
    arm_values,
    difference_values,
    marked,
    with_departures,
)
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
    columns = (
        ARM_COLUMN,
        Column(
            f"Test {printed} (%), mean (sd)", ("mean", "sd"), cell=partial(_mean, printed=printed)
        ),
        Column("n", ("n",), cell=lambda row: integer_cell(len(row.arm.test_errors))),
        Column(
            "Difference [95 %]",
            ("difference", "low", "high"),
            hide_if_empty=True,
            cell=partial(_difference, printed=printed),
        ),
        DIVERGED_COLUMN,
    )
    table = Table(
        name=name,
        title=f"{manifest.sweep}: test {printed} by arm",
        lead=Needed(_lead(printed)),
        description=one_line(manifest.description),
        columns=columns,
        rows=rows_of(columns, arm_rows(arms.groups, arms.compared)),
        notes=tuple(_notes(manifest, arms)),
    )
    return with_departures(manifest, table)


def printed_of(manifest: Manifest) -> Printed:
    """Return what the sweep's published table prints: its accuracy, or else its error."""
    for table in manifest.tables:
        if isinstance(table, PublishedTable | GridTable):
            return table.paper_prints
    return "error"


def _lead(printed: Printed) -> str:
    of_error = " (100 minus the error)" if printed == "accuracy" else ""
    return (
        f"Test {printed} in percent{of_error}: mean (standard deviation) over n seeds. In brackets "
        f"is the spread of single trainings, neither a standard error nor a confidence interval."
    )


def _mean(row: ArmRow, *, printed: Printed) -> Cell:
    values: dict[str, Any] = arm_values(row.arm, "")
    mean, deviation = values[_MEAN], values[f"{_MEAN}_sd"]
    if mean is None:
        return Cell("", (None, None))
    mean = 100 - mean if printed == "accuracy" else mean
    spread = "" if deviation is None else f" ({number_text(deviation)})"
    return marked(Cell(f"{number_text(mean)}{spread}", (mean, deviation)), row.arm)


def _difference(row: ArmRow, *, printed: Printed) -> Cell:
    comparison = row.compared
    values: dict[str, Any] = difference_values(comparison)
    mean, low, high = (values[f"{_DIFFERENCE}{end}"] for end in ("", "_low", "_high"))
    if comparison is None or mean is None:
        return Cell("", (None, None, None))
    if printed == "accuracy":
        mean, low, high = -mean, None if high is None else -high, None if low is None else -low
    text = number_text(mean, sign="+")
    if low is not None and high is not None:
        text += f" [{number_text(low, sign='+')}, {number_text(high, sign='+')}]"
    return Cell(text, (mean, low, high), is_bold=comparison.is_different)


def _notes(manifest: Manifest, arms: ComparedArms) -> Iterator[str]:
    """Yield how to read the table, and what cannot be concluded from it."""
    yield from notes.ill_notes(arms.arms)
    yield from _differences(manifest, arms)
    yield from tuning_sentences(manifest)
    yield from slack_notes(manifest, arms.compared)
    yield from notes.added_notes(manifest, arms.compared)
    yield from length_notes(arms.arms)
    yield from notes.identical_notes(arms.arms)
    yield from notes.diverged_notes(arms.arms)
    yield from notes.gap_notes(arms.arms)
    yield from notes.machine_notes(arms.arms)
    yield from notes.target_notes(arms.arms)
    epoch = epoch_of_test_text(arm.arm.config for arm in arms.arms)
    yield f"Of {epoch} of each training. Selection never saw the test split."


def _differences(manifest: Manifest, arms: ComparedArms) -> Iterator[str]:
    compared = arms.compared
    if any(comparison.way for comparison in compared):
        yield Needed(
            f"Difference: from '{one_line(arms.baseline)}' in percentage points, paired by "
            f"seed; in brackets its 95 % interval for {covered(compared)}."
        )
        if sentence := split_sentence(manifest):
            yield sentence
        yield Needed(
            "Bold: different, by a verdict that holds for all comparisons together (Holm). What "
            "is not bold is not shown to be equal."
        )
    if names := [
        comparison.shown_name for comparison in compared if comparison.verdict == "equivalent"
    ]:
        within = f"{PLUS_MINUS}{points_text(manifest.margin_points or 0.0)}"
        yield f"Equivalent to it within {within}, as declared: {', '.join(names)}."
    alone = [
        comparison.shown_name
        for comparison in compared
        if comparison.way is None and comparison.difference.mean is not None
    ]
    if alone:
        yield Needed(
            f"{', '.join(alone)}: brackets, where there are any, cover new seeds alone; nothing is "
            f"bold."
        )
