"""The check-mark table: which component or level is in which arm, as ablations are printed."""

from collections.abc import Iterator, Mapping, Sequence

from search_spaces.tables import ComponentsTable
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.table import Cell, Column, Table
from sweeps.aggregation.results.arms import ArmResults, arm_results
from sweeps.aggregation.results.comparisons import Comparison, ablation_comparisons
from sweeps.aggregation.results.factors import Factor, factors_of
from sweeps.aggregation.statistics.contrasts import ABSENT
from sweeps.aggregation.tables.ablation_notes import ablation_words
from sweeps.aggregation.tables.ablation_table import ARM_COLUMNS, arm_row
from sweeps.aggregation.tables.departures import with_departures
from sweeps.aggregation.tables.effects_notes import is_off, level_words
from sweeps.aggregation.tables.sweep_results import Results
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
    manifest = results.manifest
    arms = arm_results(manifest, results.records)
    compared = ablation_comparisons(manifest, arms, results.predictions)
    table = components_table(manifest, arms, compared, declared.name)
    return Section(declared.name, declared.kind, tables=(table,))


def components_table(
    manifest: Manifest,
    arms: Sequence[ArmResults],
    compared: Sequence[Comparison],
    name: str = "components",
) -> Table:
    """Return one row an arm: a column a component or factor, the error, and the difference.

    Args:
        manifest: Manifest of a design of components or factors.
        arms: Arms with their trials.
        compared: Each arm with the baseline.
        name: The table's name, as the manifest declares it.

    Raises:
        BadInput: If the sweep's design has neither.
    """
    headings, marks = component_marks(manifest)
    by_arm = {arm.arm.name: one for one in compared for arm in one.arms}
    is_whole = all(len(arm.counted) == len(arm.trials) for arm in arms)
    lead, notes = ablation_words(manifest, arms, compared)
    first, *others = ARM_COLUMNS
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
        title=f"Components {manifest.sweep}: test error by components",
        lead=lead,
        description=one_line(manifest.description),
        columns=columns,
        rows=tuple(rows),
        notes=(*mark_notes(marks), *notes),
    )
    return with_departures(manifest, table)


def component_marks(manifest: Manifest) -> tuple[tuple[str, ...], Marks]:
    """Return the headings of the components, and each arm's marks below them: arm -> marks.

    Raises:
        BadInput: If the sweep's design has neither components nor factors.
    """
    design = manifest.design
    if design and design.components:
        headings = design.components.get(manifest.baseline, ())
        return headings, {
            arm.name: [
                CHECK if one in design.components.get(arm.name, ()) else NONE for one in headings
            ]
            for arm in manifest.arms
        }
    if not design or not design.factors:
        raise BadInput(
            f"The sweep '{manifest.sweep}' does not say which component is in which arm: leave the "
            f"components table out, or declare a LeaveOneOut or a FullFactorial."
        )
    factors = factors_of(manifest)
    words = [_level_marks(factor) for factor in factors]
    return tuple(factor.name for factor in factors), {
        arm.name: [
            "" if (place := factor.place(arm.changes)) == ABSENT else marks[place]
            for factor, marks in zip(factors, words, strict=True)
        ]
        for arm in manifest.arms
    }


def _level_marks(factor: Factor) -> Sequence[str]:
    """Return a mark a level where a factor is there or not, else its levels in words."""
    words = level_words(factor.levels)
    are_off = [is_off(level) for level in factor.levels]
    if sum(are_off) != 1:
        return words
    if len(are_off) == 2:
        return [NONE if off else CHECK for off in are_off]
    return [NONE if off else text for off, text in zip(are_off, words, strict=True)]


def _row(
    arm: ArmResults, marks: Sequence[str], compared: Comparison | None, *, is_whole: bool
) -> tuple[Cell, ...]:
    first, *others = arm_row([arm], compared, is_whole=is_whole)
    return (first, *(Cell(mark, (plain_mark(mark),)) for mark in marks), *others)


def plain_mark(mark: str) -> str | bool:
    """Return a mark's value for programs."""
    return {CHECK: True, NONE: False}.get(mark, mark)


def mark_notes(marks: Marks) -> Iterator[str]:
    """Yield what the marks mean."""
    used = {mark for row in marks.values() for mark in row}
    if used & {CHECK, NONE}:
        yield f"{CHECK}: present; {NONE}: absent."
    if "" in used:
        yield "A cell is empty if the setting does not exist."
