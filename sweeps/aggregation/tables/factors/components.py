"""The check-mark table: which component is in which arm, as ablations are printed."""

from collections.abc import Sequence

from sweeps.aggregation.rendering.table import Cell, Column, Table
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.tables.ablation import cells
from sweeps.aggregation.tables.ablation.words import ablation_words
from sweeps.aggregation.tables.departures import with_departures
from sweeps.aggregation.tables.factors.component_marks import (
    component_marks,
    mark_notes,
    plain_mark,
)
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line


def components_table(
    manifest: Manifest,
    arms: Sequence[ArmResults],
    compared: Sequence[Comparison],
    name: str = "components",
) -> Table:
    """Return one row an arm: a column a component or factor, the error, and the difference.

    Args:
        manifest: Of a design of components or factors.
        arms: With their trials.
        compared: Each arm with the baseline.
        name: The table's name, as the manifest declares it.

    Raises:
        BadInput: If the sweep's design has neither.
    """
    headings, marks = component_marks(manifest)
    by_arm = {arm.arm.name: one for one in compared for arm in one.arms}
    is_whole = all(len(arm.counted) == len(arm.trials) for arm in arms)
    lead, notes = ablation_words(manifest, arms, compared)
    first, *others = cells.COLUMNS
    columns = (
        first,
        *(Column(one_line(text), (f"component_{n}",)) for n, text in enumerate(headings, start=1)),
        *others,
    )
    rows = (
        _row(arm, marks[arm.arm.name], by_arm.get(arm.arm.name), is_whole=is_whole) for arm in arms
    )
    table = Table(
        name=name,
        title=f"Components {manifest.sweep}: test error by what is there",
        lead=lead,
        description=one_line(manifest.description),
        columns=columns,
        rows=tuple(rows),
        notes=(*mark_notes(marks), *notes),
    )
    return with_departures(manifest, table)


def _row(
    arm: ArmResults, marks: Sequence[str], compared: Comparison | None, *, is_whole: bool
) -> tuple[Cell, ...]:
    first, *others = cells.row([arm], compared, is_whole=is_whole)
    return (first, *(Cell(mark, (plain_mark(mark),)) for mark in marks), *others)
