"""The rows of the ablation table as readers see them."""

from collections.abc import Sequence
from dataclasses import replace

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import measured_spread_cell, shown_interval
from sweeps.aggregation.rendering.table import Cell, Column, count_cell, difference_cell, text_cell
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.tables.ablation.diverged import DIVERGED_COLUMN, diverged_cell
from sweeps.aggregation.tables.targets import marked
from sweeps.aggregation.tables.uncounted_cells import OTHER_GAPS_COLUMN, other_gaps_cell
from sweeps.records.plain_text import one_line

COLUMNS = (
    Column("Arm", ("arm",), align="left"),
    Column("n", ("n", "num_planned"), hide_if_empty=True),
    Column("Error % (sd)", ("mean", "sd", "se", "min", "max")),
    Column("Difference", ("difference", "low", "high", "difference_n"), hide_if_empty=True),
    Column("Verdict", ("verdict",), align="left", hide_if_empty=True),
    DIVERGED_COLUMN,
    OTHER_GAPS_COLUMN,
)


def row(
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
    """Return the difference from the baseline in points, empty for the baseline's own."""
    if compared is None:
        return Cell("", (None, None, None, None))
    return difference_cell(
        shown_interval(compared.difference, TEST_ERROR), n, is_bold=compared.is_different
    )


def verdict_of(compared: Comparison | None) -> Cell:
    """Return what may be said of a difference."""
    if compared is None or compared.difference.mean is None:
        return Cell("", (None,))
    cell = text_cell(compared.verdict)
    return Cell(cell.text, cell.values, is_bold=compared.is_different)
