"""A table of a paper in its own rows and columns, with our figures beside the published ones."""

import re
from collections.abc import Iterator, Mapping, Sequence

from sweeps.aggregation.arms import ArmResults, arm_results
from sweeps.aggregation.departures import with_departures
from sweeps.aggregation.gaps import GAP_COLUMN, gap_cell, gap_notes, reason_notes
from sweeps.aggregation.plain_text import one_line
from sweeps.aggregation.statistics import mean_interval
from sweeps.aggregation.table import (
    PLUS_MINUS,
    Cell,
    Column,
    Table,
    count_cell,
    mean_cell,
    text_cell,
)
from sweeps.errors import BadInput
from sweeps.manifest import Manifest, PublishedRow, PublishedTable
from sweeps.records import TrialRecord

_COLUMNS = (
    Column("Ours (%)", tuple(f"test_error_percent{end}" for end in ("", "_low", "_high"))),
    Column("n", ("n", "num_planned")),
    Column("Published (%)", ("published_percent", "published_spread")),
    Column("Trust in the published", ("trust",), align="left", hide_if_empty=True),
    Column("Arm", ("arm",), align="left", hide_if_empty=True),
    GAP_COLUMN,
)


def published_table(
    manifest: Manifest, records: Mapping[str, TrialRecord], spec: PublishedTable
) -> Table:
    """Return the paper's rows, each with our mean test error and the published figure.

    Nothing is bold: whether the two agree is for the reader to judge. A row without an arm of
    ours, or whose arm this sweep does not have, stays without a figure of ours. Holds only what
    trial keys decide.

    Raises:
        BadInput: If a row does not have a label for each heading.
    """
    if any(len(row.labels) != len(spec.headings) for row in spec.rows):
        raise BadInput(
            f"Table '{spec.name}' has {len(spec.headings)} headings, but a row of it has not as "
            "many labels: give each row one label a heading."
        )
    arms = {arm.arm.name: arm for arm in arm_results(manifest, records)}
    shown = [arms[name] for name in _names(spec) if name in arms]
    table = Table(
        name=spec.name,
        title=f"{one_line(spec.title)}: ours beside the published",
        description=one_line(manifest.description),
        columns=(*_label_columns(spec.headings), *_COLUMNS),
        rows=tuple(_row(row, arms.get(row.arm or "")) for row in spec.rows),
        notes=(
            *_own_notes(manifest, shown),
            *_published_notes(spec),
            *_absence_notes(spec, arms),
            *map(one_line, spec.notes),
            *gap_notes(shown),
            *reason_notes(shown),
        ),
    )
    return with_departures(manifest, table)


def _names(spec: PublishedTable) -> dict[str, None]:
    """Return the arms of the table, each once, in the order of their rows."""
    return dict.fromkeys(row.arm for row in spec.rows if row.arm is not None)


def _label_columns(headings: Sequence[str]) -> tuple[Column, ...]:
    """Return a column a heading; its name in CSV is the heading's letters, or its place."""
    own = {field for column in (*_COLUMNS, GAP_COLUMN) for field in column.fields}
    fields: list[str] = []
    for place, heading in enumerate(headings, start=1):
        field = re.sub(r"[^a-z0-9]+", "_", heading.lower()).strip("_")
        fields.append(field if field and field not in {*own, *fields} else f"label_{place}")
    return tuple(
        Column(one_line(heading), (field,), align="left")
        for heading, field in zip(headings, fields, strict=True)
    )


def _row(row: PublishedRow, arm: ArmResults | None) -> tuple[Cell, ...]:
    labels = tuple(text_cell(label) for label in row.labels)
    theirs = (_published_cell(row), text_cell(row.trust))
    named = Cell("", (row.arm,))  # for programs: readers have the labels
    if arm is None:
        nothing = Cell("", (None,) * len(GAP_COLUMN.fields))
        ours = (Cell("", (None, None, None)), Cell("", (None, None)))
        return (*labels, *ours, *theirs, named, nothing)
    errors = arm.test_errors
    ours = (mean_cell(mean_interval(errors.values())), count_cell(len(errors), len(arm.trials)))
    return (*labels, *ours, *theirs, named, gap_cell(arm))


def _published_cell(row: PublishedRow) -> Cell:
    text = "" if row.published is None else _as_printed(row.published)
    if text and row.spread is not None:
        text += f" {PLUS_MINUS} {_as_printed(row.spread)}"
    return Cell(text, (row.published, row.spread))


def _as_printed(value: float) -> str:
    """Return a figure with at least two decimals, and with all that it was published with."""
    return f"{value:.2f}" if round(value, 2) == value else repr(value)


def _own_notes(manifest: Manifest, arms: Sequence[ArmResults]) -> Iterator[str]:
    word = "seed" if len(manifest.seeds) == 1 else "seeds"
    seeds = ", ".join(str(seed) for seed in manifest.seeds)
    yield (
        f"Ours: mean test error in percent of n trials, one a seed ({word} {seeds}), each that of "
        f"the last epoch{_length(arms)}; {PLUS_MINUS} half the width of the mean's 95 % t interval "
        "(n - 1 degrees of freedom), none where n is 1. Selection never saw the test split."
    )


def _length(arms: Sequence[ArmResults]) -> str:
    """Return how long our trials were trained, "" where none is counted."""
    epochs = [trial.epochs for arm in arms for trial in arm.counted.values()]
    if not epochs:
        return ""
    low, high = min(epochs), max(epochs)
    return f", number {low}" if low == high else f", number {low} to {high}"


def _published_notes(spec: PublishedTable) -> Iterator[str]:
    spread = one_line(spec.spread).rstrip(".") or "as published, its meaning not known"
    theirs = "Published: the figure that the source gives, in percent"
    if any(row.spread is not None for row in spec.rows):
        theirs += f"; {PLUS_MINUS} there: {spread}"
    yield (
        f"{theirs}. No difference from ours is tested, as the published trials are not at hand: "
        "nothing is bold."
    )


def _absence_notes(spec: PublishedTable, arms: Mapping[str, ArmResults]) -> Iterator[str]:
    if any(row.arm is None for row in spec.rows):
        yield "A row without n stands in the paper, but this sweep has no arm for it."
    for name in _names(spec):
        if name not in arms:
            yield f"This sweep has no arm {one_line(name)}: its row has no figure of ours."
