"""All pairs of arms: which differ from which, as letters and as a triangle of differences."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

from capsmodel.metrics import TEST_ERROR
from search_spaces.tables import MOST_ARMS_IN_PAIRS, AblationTable
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.measured import shown_interval, value_cell
from sweeps.aggregation.rendering.table import (
    Cell,
    Column,
    Table,
    Value,
    data_table,
    mean_cell,
    rows_of,
    text_cell,
    values_table,
)
from sweeps.aggregation.results.pair_comparisons import (
    ArmPairs,
    PairComparison,
    pair_comparisons,
)
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.ablation_table import (
    ERROR_COLUMNS,
    ArmRow,
    arm_rows,
    make_ablation,
)
from sweeps.aggregation.tables.all_pairs_notes import EQUIVALENT, all_pairs_lead, all_pairs_notes
from sweeps.aggregation.tables.columns import difference_values, marked, with_departures
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line

_ELSEWHERE = {"Error % (sd)", "Difference", "Verdict"}  # in the ablation table


@dataclass(frozen=True)
class PairRow(ArmRow):
    """What a row of the table is of.

    Attributes:
        number: Of the arm in this table, from 1.
        letters: Those of the arm.
        against: How it compares with each arm of a smaller mean error, the smallest first.
    """

    number: int = 1
    letters: str = ""
    against: Sequence[PairComparison] = ()


def make_ablation_with_pairs(declared: AblationTable, results: Results) -> Section:
    """Return the ablation table, and where it is declared so a second one of all pairs of arms.

    Raises:
        BadInput: If the sweep is a search.
    """
    section = make_ablation(declared, results)
    if not declared.all_pairs:
        return section
    if (num := len(results.arms)) > MOST_ARMS_IN_PAIRS:
        note = (
            f"All pairs are compared of at most {MOST_ARMS_IN_PAIRS} arms, and there are {num}: "
            f"that table is left out."
        )
        return replace(section, notes=(*section.notes, note))
    pairs = pair_comparisons(results.manifest, results.arms, results.predictions)
    table = all_pairs_table(results.manifest, pairs, f"{declared.name}-all-pairs", declared.name)
    return replace(section, tables=(*section.tables, table))


def all_pairs_table(manifest: Manifest, pairs: ArmPairs, name: str, ablation: str) -> Table:
    """Return one row per arm, the smallest mean error first; programs get one row per pair.

    Args:
        manifest: The sweep's purpose and departures.
        pairs: Arms and their comparisons.
        name: The table's name.
        ablation: Name of the ablation table of the same arms.
    """
    columns = (
        Column("Arm", ("arm",), align="left", cell=_arm),
        Column("Error %", ("mean",), cell=_error),
        Column("Letters", ("letters",), align="left", is_answer=True, cell=_letters),
        *(_minus(place) for place in range(len(pairs.groups) - 1)),
        *(column for column in ERROR_COLUMNS if column.title not in _ELSEWHERE),
    )
    rows = [
        PairRow(
            row.group,
            None,
            row.is_whole,
            number=place + 1,
            letters=pairs.letters[place],
            against=[pairs.pairs[other, place] for other in range(place)],
        )
        for place, row in enumerate(arm_rows(pairs.groups, ()))
    ]
    table = Table(
        name=name,
        title=f"All pairs of arms of {manifest.sweep}: test error, the smallest first",
        lead=all_pairs_lead(manifest, pairs),
        description=one_line(manifest.description),
        columns=columns,
        rows=rows_of(columns, rows),
        notes=tuple(all_pairs_notes(manifest, pairs, ablation)),
        for_programs=pair_values(pairs, name),
    )
    return with_departures(manifest, table)


def _arm(row: PairRow) -> Cell:
    names = " = ".join(arm.shown_name for arm in row.group)
    return Cell(f"{row.number}. {names}", (row.arm.arm.name,))


def _error(row: PairRow) -> Cell:
    errors = [*row.arm.test_errors.values()]
    return marked(value_cell(fmean(errors), TEST_ERROR), row.arm) if errors else Cell("", (None,))


def _letters(row: PairRow) -> Cell:
    return text_cell(row.letters)


def _minus(place: int) -> Column:
    """Return the column of differences from the arm at a place."""
    number = place + 1
    fields = tuple(f"minus_{number}{end}" for end in ("", "_low", "_high"))
    return Column(f"minus {number}", fields, cell=partial(_difference, place=place))


def _difference(row: PairRow, *, place: int) -> Cell:
    if place >= len(row.against):
        return Cell("", (None,) * 3)
    pair = row.against[place]
    cell = mean_cell(shown_interval(pair.simultaneous or pair.difference, TEST_ERROR))
    if pair.is_different:
        return replace(cell, text=cell.text or pair.verdict, is_bold=True)
    is_equivalent = pair.verdict == "equivalent"
    return replace(cell, text=f"{cell.text} {EQUIVALENT}") if is_equivalent else cell


def pair_values(pairs: ArmPairs, name: str) -> Table:
    """Return one row per pair of arms: those with identical results have rows of their own.

    Differences are in percentage points, the first arm of a row minus the other.
    """
    rows = [
        {
            "arm": arm.arm.name,
            "minus": other.arm.name,
            "arm_letters": pairs.letters[second],
            "minus_letters": pairs.letters[first],
            **_values(pair),
        }
        for (first, second), pair in pairs.pairs.items()
        for arm in pairs.groups[second]
        for other in pairs.groups[first]
    ]
    return values_table(name, rows) if rows else data_table(name, ("arm", "minus"), ())


def _values(pair: PairComparison) -> dict[str, Value]:
    of_pair = difference_values(pair) | {"num_together": pair.num_together}
    del of_pair["detectable_points"]  # it is known for comparisons with one baseline alone
    return of_pair
