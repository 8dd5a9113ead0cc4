"""The ablation table as a paper prints it: mean, standard deviation and number of seeds."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from search_spaces.tables import GridTable, PublishedTable
from sweeps.aggregation.paper.compared_arms import ComparedArms
from sweeps.aggregation.paper.notes import paper_notes
from sweeps.aggregation.rendering.table import PLUS_MINUS, Cell, Column, Table, number_text
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.tables.ablation.diverged import (
    DIVERGED_COLUMN,
    diverged_cell,
)
from sweeps.aggregation.tables.ablation.values import arm_values, difference_values
from sweeps.aggregation.tables.departures import with_departures
from sweeps.aggregation.tables.targets import marked
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line

Printed = Literal["error", "accuracy"]
_MEAN = "test_error_percent"
_DIFFERENCE = "difference_points"


def paper_table(manifest: Manifest, arms: ComparedArms, name: str = "ablation-paper") -> Table:
    """Return `mean ± sd (n)` of each arm, of the error or, where the sweep's paper does, accuracy.

    Here ± is the spread over seeds and nothing else: the interval of a difference stands in
    brackets. Holds only what trial keys decide.

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
            Column(f"Test {printed} (%), mean {PLUS_MINUS} sd (n)", ("mean", "sd", "n")),
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
        f"Test {printed} in percent{of_error}: mean {PLUS_MINUS} standard deviation over seeds "
        f"(number of seeds); {PLUS_MINUS} is the spread of single trainings, neither a standard "
        f"error nor a confidence interval."
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
        _difference(compared.get(arm.arm.name), printed),
        diverged_cell(arm),
    )


def _mean(arm: ArmResults, printed: Printed) -> Cell:
    values: dict[str, Any] = arm_values(arm, "")
    mean, deviation, n = values[_MEAN], values[f"{_MEAN}_sd"], values["n"]
    if mean is None:
        return Cell("", (None, None, n))
    mean = 100 - mean if printed == "accuracy" else mean
    spread = "" if deviation is None else f" {PLUS_MINUS} {number_text(deviation)}"
    return Cell(f"{number_text(mean)}{spread} ({n})", (mean, deviation, n))


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
