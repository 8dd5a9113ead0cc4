"""The means by value: one row a value of a setting, or a range of them."""

from collections.abc import Iterator

from capsmodel.metrics import Metric
from sweeps.aggregation.rendering.measured import measured_column, measured_interval
from sweeps.aggregation.rendering.table import (
    PLUS_MINUS,
    Cell,
    Column,
    Table,
    integer_cell,
    text_cell,
)
from sweeps.aggregation.sensitivity.described import Marginal, SettingSensitivity
from sweeps.aggregation.sensitivity.sensitivity import Sensitivity
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.tables.sensitivity.sample_notes import sample_notes
from sweeps.aggregation.tables.sensitivity.shares import signed


def marginals_table(sensitivity: Sensitivity, name: str) -> Table:
    """Return the mean of the objective by value of each setting."""
    results = sensitivity.results
    metric = results.objective.metric
    return Table(
        name=name,
        title=f"Sensitivity {results.sweep}: mean {metric.text} by value",
        columns=(
            Column("Setting", ("setting",), align="left"),
            Column("Value", ("value",), align="left"),
            Column("n", ("n",)),
            measured_column(metric, metric.text.capitalize()),
        ),
        rows=tuple(
            _row(setting, marginal, metric)
            for setting in sensitivity.settings
            for marginal in setting.marginals
        ),
        notes=(*sample_notes(sensitivity), *_notes()),
    )


def _row(setting: SettingSensitivity, marginal: Marginal, metric: Metric) -> tuple[Cell, ...]:
    return (
        text_cell(setting.dimension.name),
        text_cell(marginal.group.label),
        integer_cell(marginal.objective.n),
        _mean_cell(measured_interval(marginal.values, metric), 2 if metric.is_fraction else 4),
    )


def _mean_cell(objective: Interval, digits: int) -> Cell:
    values = (objective.mean, objective.low, objective.high)
    if objective.mean is None:
        return Cell("", values)
    half = objective.half_width
    spread = "" if half is None else f" {PLUS_MINUS} {half:.{digits}f}"
    return Cell(signed(objective.mean, digits) + spread, values)


def _notes() -> Iterator[str]:
    yield (
        f"Mean over the counted trials with this value, {PLUS_MINUS} half the width of its 95 % t "
        "interval (n - 1 degrees of freedom); where n is 1 there is none. Ranges are five parts "
        "of equal length, of equal ratio where the search varies the logarithm; a range holds its "
        "lower end."
    )
    yield (
        "The other settings differ between these trials too, and a search that learns tries good "
        "values more often: the means describe the trials, they prove no cause."
    )
