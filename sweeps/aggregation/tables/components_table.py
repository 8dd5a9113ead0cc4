"""The check-mark table: which component or level is in which arm, as ablations are printed."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from search_spaces.tables import ComponentsTable
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.table import Cell, Column, Needed, Table, rows_of
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.factors import Factor, factors_of, is_off, level_texts
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.statistics.contrasts import ABSENT
from sweeps.aggregation.tables.ablation_notes import ablation_notes
from sweeps.aggregation.tables.ablation_table import ARM_COLUMN, ERROR_COLUMNS, ArmRow, arm_rows
from sweeps.aggregation.tables.columns import with_departures
from sweeps.aggregation.tables.headlines import comparison_headline
from sweeps.aggregation.tables.notes import comparison_lead
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line

CHECK = "\N{CHECK MARK}"
NONE = "\N{EN DASH}"
Marks = Mapping[str, Sequence[str]]


def make_components(declared: ComponentsTable, results: Results) -> Section:
    """Return which component is in which arm, with its error.

    Raises:
        BadInput: If the sweep's design says nothing of components or factors.
    """
    table = components_table(results.manifest, results.arms, results.compared, declared.name)
    return Section(declared.name, declared.kind, tables=(table,))


def components_table(
    manifest: Manifest,
    arms: Sequence[ArmResults],
    compared: Sequence[Comparison],
    name: str = "components",
) -> Table:
    """Return a row for each arm: its components or levels, its error, and the difference.

    Args:
        manifest: Manifest of a design of components or factors.
        arms: Arms with their trials.
        compared: Each arm with the baseline.
        name: The table's name, as the manifest declares it.

    Raises:
        BadInput: If the sweep's design has neither.
    """
    headings, marks = _component_marks(manifest)
    columns = (
        ARM_COLUMN,
        *(
            Column(
                one_line(heading), (f"component_{n + 1}",), cell=partial(_mark_cell, marks, place=n)
            )
            for n, heading in enumerate(headings)
        ),
        *ERROR_COLUMNS,
    )
    table = Table(
        name=name,
        title=f"Components {manifest.sweep}: test error by components",
        lead=comparison_lead(manifest, compared, arms),
        headline=comparison_headline(compared, manifest.margin_points),
        description=one_line(manifest.description),
        columns=columns,
        rows=rows_of(columns, arm_rows([[arm] for arm in arms], compared)),
        notes=(*_mark_notes(marks), *ablation_notes(manifest, arms, compared, csv="")),
    )
    return with_departures(manifest, table)


def _component_marks(manifest: Manifest) -> tuple[tuple[str, ...], Marks]:
    """Return the headings of the components, and each arm's marks below them: arm -> marks.

    Raises:
        BadInput: If the sweep's design has neither components nor factors.
    """
    design = manifest.design
    if design and design.components:
        headings = design.components.get(manifest.baseline, ())
        return headings, {
            arm.name: [
                CHECK if component in design.components.get(arm.name, ()) else NONE
                for component in headings
            ]
            for arm in manifest.arms
        }
    if not design or not design.factors:
        raise BadInput(
            f"The sweep '{manifest.sweep}' does not say which component is in which arm: leave the "
            f"components table out, or declare a LeaveOneOut or a FullFactorial."
        )
    factors = factors_of(manifest)
    marks_of_factors = [_level_marks(factor) for factor in factors]
    return tuple(factor.name for factor in factors), {
        arm.name: [
            "" if (place := factor.place(arm.changes)) == ABSENT else marks[place]
            for factor, marks in zip(factors, marks_of_factors, strict=True)
        ]
        for arm in manifest.arms
    }


def _level_marks(factor: Factor) -> Sequence[str]:
    """Return a mark for each level that is on or off, and a text for any other."""
    texts = level_texts(factor.levels)
    are_off = [is_off(level) for level in factor.levels]
    if sum(are_off) != 1:
        return texts
    if len(are_off) == 2:
        return [NONE if off else CHECK for off in are_off]
    return [NONE if off else text for off, text in zip(are_off, texts, strict=True)]


def _mark_cell(marks: Marks, row: ArmRow, *, place: int) -> Cell:
    mark = marks[row.arm.arm.name][place]
    return Cell(mark, ({CHECK: True, NONE: False}.get(mark, mark),))


def _mark_notes(marks: Marks) -> Iterator[str]:
    used = {mark for row in marks.values() for mark in row}
    if used & {CHECK, NONE}:
        yield Needed(f"{CHECK}: present; {NONE}: absent.")
    if "" in used:
        yield Needed("A cell is empty if the setting does not exist.")
