"""A paper's own table with our figures in it."""

import re
from collections.abc import Iterator, Mapping, Sequence

from capsmodel.metrics import TEST_ERROR
from search_spaces.tables import PublishedRow, PublishedTable
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.measured import MEAN_ENDS, measured_cell, measured_column
from sweeps.aggregation.rendering.table import Cell, Column, Table, count_cell, text_cell
from sweeps.aggregation.results.arms import ArmResults, arm_results
from sweeps.aggregation.results.mean_errors import MeanOfArm, mean_of
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.results.targets import missed
from sweeps.aggregation.tables.columns import GAP_COLUMN, gap_cell, ill_cell, ill_columns, marked
from sweeps.aggregation.tables.notes import ill_notes, mean_notes
from sweeps.aggregation.tables.published_notes import (
    beside_published,
    own_note,
    published_note,
    published_text,
    trial_notes,
)
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import TrialRecord

_COLUMNS = (
    measured_column(TEST_ERROR, "Ours"),
    Column("n", ("n", "num_planned")),
    Column("Published (%)", ("published_percent", "published_spread")),
    Column("Trust in the published", ("trust",), align="left", hide_if_empty=True),
    Column("Arm", ("arm",), align="left", hide_if_empty=True),
    GAP_COLUMN,
)
_LATER_FIELDS = {"data", "departures", "num_target_missed", "num_ill"}


def make_published(declared: PublishedTable, results: Results) -> Section:
    """Return the table."""
    table = published_table(results.manifest, results.records, declared, results.predictions)
    return Section(declared.name, declared.kind, tables=(table,))


def published_table(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    spec: PublishedTable,
    predictions: Mapping[str, Predictions] | None = None,
) -> Table:
    """Return the paper's rows, each with our mean test error and the published value.

    Nothing is bold: whether the two agree is for the reader to judge. A row without an arm of
    ours, or whose arm this sweep does not have, stays without a value of ours. Holds only what
    trial keys decide.
    """
    arms = {arm.arm.name: arm for arm in arm_results(manifest, records)}
    shown = [arms[name] for name in _names(spec) if name in arms]
    means = {
        arm.arm.name: mean_of(arm, arm.test_errors, TEST_ERROR.name, predictions or {})
        for arm in shown
    }
    has_target = any(trial.target for arm in shown for trial in arm.counted.values())
    more = (Column("Target missed", ("num_target_missed",), hide_if_empty=True),) * has_target
    of_ill = ill_columns(shown)
    table = Table(
        name=spec.name,
        title=f"{one_line(spec.title)}: ours beside the published",
        description=one_line(manifest.description),
        columns=(*_label_columns(spec.headings), *_COLUMNS, *more, *of_ill),
        rows=tuple(
            (
                *_row(row, arm, means),
                *(Cell("", (len(missed(arm)) if arm else None,)) for _ in more),
                *(ill_cell(arm) for _ in of_ill),
            )
            for row, arm in ((row, arms.get(row.arm or "")) for row in spec.rows)
        ),
        notes=(
            *ill_notes(shown),
            own_note(manifest, shown, "mean test error in percent"),
            *mean_notes(means.values()),
            published_note(spec.spread, any(row.spread is not None for row in spec.rows)),
            *_absence_notes(spec, arms),
            *map(one_line, spec.notes),
            *trial_notes(shown),
        ),
    )
    return beside_published(table, manifest, shown, spec.published_data)


def _names(spec: PublishedTable) -> dict[str, None]:
    """Return the arms of the table, each once, in the order of their rows."""
    return dict.fromkeys(row.arm for row in spec.rows if row.arm is not None)


def _label_columns(headings: Sequence[str]) -> tuple[Column, ...]:
    """Return a column for each heading. Its CSV name is the heading's letters, or its place."""
    taken = {field for column in _COLUMNS for field in column.fields} | _LATER_FIELDS
    fields: list[str] = []
    for place, heading in enumerate(headings, start=1):
        field = re.sub(r"[^a-z0-9]+", "_", heading.lower()).strip("_")
        fields.append(field if field and field not in {*taken, *fields} else f"label_{place}")
    return tuple(
        Column(one_line(heading), (field,), align="left")
        for heading, field in zip(headings, fields, strict=True)
    )


def _row(
    row: PublishedRow, arm: ArmResults | None, means: Mapping[str, MeanOfArm]
) -> tuple[Cell, ...]:
    labels = tuple(text_cell(label) for label in row.labels)
    theirs = (_published_cell(row), text_cell(row.trust))
    named = Cell("", (row.arm,))  # for programs: readers have the labels
    if arm is None:
        nothing = Cell("", (None,) * len(GAP_COLUMN.fields))
        ours = (Cell("", (None,) * len(MEAN_ENDS)), Cell("", (None, None)))
        return (*labels, *ours, *theirs, named, nothing)
    mean = marked(measured_cell(means[arm.arm.name].interval, TEST_ERROR), arm)
    ours = (mean, count_cell(len(arm.test_errors), len(arm.trials)))
    return (*labels, *ours, *theirs, named, gap_cell(arm))


def _published_cell(row: PublishedRow) -> Cell:
    return Cell(published_text(row.published, row.spread), (row.published, row.spread))


def _absence_notes(spec: PublishedTable, arms: Mapping[str, ArmResults]) -> Iterator[str]:
    if any(row.arm is None for row in spec.rows):
        yield "A row without n stands in the paper, but this sweep has no arm for it."
    for name in _names(spec):
        if name not in arms:
            yield f"This sweep has no arm {one_line(name)}: its row has no figure of ours."
