"""A paper's grid with our figures in it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from capsmodel.metrics import Metric
from search_spaces.tables import GridCell, GridRow, GridTable
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.measured import MEAN_ENDS, measured_cell
from sweeps.aggregation.rendering.table import Cell, Column, Table, count_cell, text_cell
from sweeps.aggregation.results.arms import ArmResults, arm_results, gap_text
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
from sweeps.records.trial_record import METRIC_EXTRA_TEST_ERRORS, METRIC_TEST_ERROR, TrialRecord

_PLACE_COLUMNS = (
    Column("Row", ("row",), align="left"),
    Column("Column", ("column",), align="left"),
    Column("Arm", ("arm",), align="left"),
    Column("Metric", ("metric",), align="left"),
    Column("Ours (%)", tuple(f"error_percent{end}" for end in MEAN_ENDS)),
    Column("n", ("n", "num_planned")),
    Column("Published (%)", ("published_percent", "published_spread")),
    GAP_COLUMN,
    Column("Target missed", ("num_target_missed",)),
)


@dataclass(frozen=True)
class _Grid:
    """What the table is made from.

    Attributes:
        arms: By name, those that the grid names and the sweep has, in the grid's order.
        metrics: Those that it shows, by name.
        predictions: By trial key.
    """

    spec: GridTable
    arms: Mapping[str, ArmResults]
    metrics: Mapping[str, Metric]
    predictions: Mapping[str, Predictions]

    @property
    def shown(self) -> list[ArmResults]:
        return list(self.arms.values())

    def mean(self, arm: ArmResults, metric: str) -> MeanOfArm:
        return mean_of(arm, arm.errors(metric), metric, self.predictions)

    def arm(self, cell: GridCell) -> ArmResults | None:
        return self.arms.get(cell.arm or "")

    def places(self) -> Iterator[tuple[GridRow, str, GridCell]]:
        """Yield each cell after its row and its column's heading, row by row."""
        for row in self.spec.rows:
            for heading, cell in zip(self.spec.columns, row.cells, strict=True):
                yield row, heading, cell


def make_grid(declared: GridTable, results: Results) -> Section:
    """Return the grid as readers see it; programs read one row per place of it."""
    seen, read = grid_table(results.manifest, results.records, declared, results.predictions)
    table = replace(seen, for_programs=read)
    return Section(declared.name, declared.kind, tables=(table,))


def grid_table(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    spec: GridTable,
    predictions: Mapping[str, Predictions] | None = None,
) -> tuple[Table, Table]:
    """Return a grid as readers see it, and the same with one row per place for programs.

    Nothing is bold: whether ours and the published agree is for the reader to judge. Holds only
    what trial keys decide.
    """
    grid = _grid(manifest, records, spec, predictions or {})
    title = f"{one_line(spec.title)}: ours beside the published"
    description = one_line(manifest.description)
    first, second = Column(one_line(spec.heading), ("row",), "left"), Column("", ("of",), "left")
    headings = tuple(
        Column(f"{one_line(name).removesuffix(' (%)')} (%)", (f"column_{place}",))
        for place, name in enumerate(spec.columns, start=1)
    )
    seen = Table(
        name=spec.name,
        title=title,
        description=description,
        columns=(first, second, *headings),
        rows=tuple(line for row in spec.rows for line in _lines(row, grid)),
        notes=tuple(_notes(manifest, grid)),
    )
    of_ill = ill_columns(grid.shown)
    read = Table(
        name=spec.name,
        title=title,
        columns=(*_PLACE_COLUMNS, *of_ill),
        rows=tuple(
            (*_place(row, heading, cell, grid), *(ill_cell(grid.arm(cell)) for _ in of_ill))
            for row, heading, cell in grid.places()
        ),
    )
    return _finished(seen, manifest, grid), _finished(read, manifest, grid)


def _grid(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    spec: GridTable,
    predictions: Mapping[str, Predictions],
) -> _Grid:
    known = {arm.arm.name: arm for arm in arm_results(manifest, records)}
    names = dict.fromkeys(cell.arm for row in spec.rows for cell in row.cells)
    names_of_metrics = dict.fromkeys(cell.metric for row in spec.rows for cell in row.cells)
    metrics = {name: manifest.metric(name) for name in names_of_metrics}
    arms = {name: known[name] for name in names if name in known}
    return _Grid(spec, arms, metrics, predictions)


def _lines(row: GridRow, grid: _Grid) -> Iterator[tuple[Cell, ...]]:
    """Yield a row of our values and, where the paper has values, the row of the published ones."""
    ours = (_seen_cell(cell, grid) for cell in row.cells)
    yield (text_cell(row.label), text_cell("ours"), *ours)
    theirs = [published_text(cell.published, cell.spread) for cell in row.cells]
    if any(theirs):
        yield (Cell("", (row.label,)), text_cell("published"), *map(text_cell, theirs))


def _seen_cell(cell: GridCell, grid: _Grid) -> Cell:
    """Return our value, with n if it is not as planned, or the reason why there is none."""
    arm = grid.arm(cell)
    if arm is None:
        return Cell("", (None,))
    mean = marked(_own_cell(cell, arm, grid), arm)
    n, planned = len(arm.errors(cell.metric)), len(arm.trials)
    if not n:
        text = gap_text(arm) or "not recorded"
    else:
        text = mean.text if n == planned else f"{mean.text} (n = {n} of {planned})"
    return Cell(text, (text,))


def _own_cell(cell: GridCell, arm: ArmResults, grid: _Grid) -> Cell:
    return measured_cell(grid.mean(arm, cell.metric).interval, grid.metrics[cell.metric])


def _notes(manifest: Manifest, grid: _Grid) -> Iterator[str]:
    spec = grid.spec
    yield from ill_notes(grid.shown)
    yield own_note(manifest, grid.shown, "mean error in percent")
    cells = [(grid.arm(cell), cell.metric) for _, _, cell in grid.places()]
    yield from mean_notes(grid.mean(arm, metric) for arm, metric in cells if arm)
    planned = {len(arm.trials) for arm in grid.shown}
    if len(planned) == 1:
        yield f"n is {planned.pop()} unless a figure says otherwise."
    yield from _metric_notes(grid)
    has_spread = any(cell.spread is not None for _, _, cell in grid.places())
    yield published_note(spec.spread, has_spread)
    yield from _absence_notes(grid)
    yield from map(one_line, spec.notes)
    yield from trial_notes(grid.shown)


def _metric_notes(grid: _Grid) -> Iterator[str]:
    """Yield the metric of each place, or of a whole row if it has only one."""
    for row in grid.spec.rows:
        metrics = {cell.metric for cell in row.cells}
        if len(metrics) == 1:
            yield f"{one_line(row.label)}: {grid.metrics[metrics.pop()].text}."
            continue
        for heading, cell in zip(grid.spec.columns, row.cells, strict=True):
            yield f"{one_line(row.label)}, {one_line(heading)}: {grid.metrics[cell.metric].text}."


def _absence_notes(grid: _Grid) -> Iterator[str]:
    cells = [cell for _, _, cell in grid.places()]
    if any(cell.arm is None and cell.published is not None for cell in cells):
        yield "A place without our value is in the paper, but this sweep has no arm for it."
    for name in dict.fromkeys(cell.arm for cell in cells if cell.arm is not None):
        if name not in grid.arms:
            yield f"This sweep has no arm {one_line(name)}: its places have no figure of ours."
    for name, metric in dict.fromkeys((cell.arm, cell.metric) for cell in cells):
        if (arm := grid.arms.get(name or "")) and (without := _without(arm, metric)):
            yield (
                f"{without} of {len(arm.counted)} trials of {one_line(arm.arm.name)} hold no "
                f"{grid.metrics[metric].text}. Known: {_known(list(arm.counted.values()))}."
            )


def _without(arm: ArmResults, metric: str) -> int:
    return len(arm.counted) - len(arm.errors(metric))


def _known(trials: Sequence[TrialRecord]) -> str:
    names = {
        METRIC_EXTRA_TEST_ERRORS + name for trial in trials for name in trial.extra_test_errors
    }
    return ", ".join([METRIC_TEST_ERROR, *sorted(names)])


def _place(row: GridRow, heading: str, cell: GridCell, grid: _Grid) -> tuple[Cell, ...]:
    arm = grid.arm(cell)
    names = (row.label, heading, cell.arm, cell.metric)
    theirs = Cell(published_text(cell.published, cell.spread), (cell.published, cell.spread))
    texts = tuple(Cell(one_line(name or ""), (name,)) for name in names)
    if arm is None:
        gaps = Cell("", (None,) * len(GAP_COLUMN.fields))
        nothing = Cell("", (None,) * len(MEAN_ENDS)), Cell("", (None, None))
        return (*texts, *nothing, theirs, gaps, Cell("", (None,)))
    count = count_cell(len(arm.errors(cell.metric)), len(arm.trials))
    late = len(missed(arm))
    ours = _own_cell(cell, arm, grid)
    return (*texts, ours, count, theirs, gap_cell(arm), Cell(str(late), (late,)))


def _finished(table: Table, manifest: Manifest, grid: _Grid) -> Table:
    return beside_published(table, manifest, grid.shown, grid.spec.published_data)
