"""The table of one evaluation: how far arms differ in its primary figure, and at points of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from capsmodel.metrics import Coordinate, Metric
from sweeps.aggregation.rendering.measured import (
    MEAN_ENDS,
    heading,
    measured_cell,
    shown_interval,
    shown_value,
)
from sweeps.aggregation.rendering.table import (
    Cell,
    Column,
    Table,
    Value,
    count_cell,
    integer_cell,
    number_text,
    values_table,
)
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.evaluation_comparisons import (
    ComparedEvaluation,
    ComparedFigure,
    difference_from_clean,
    mean_of_measured,
)
from sweeps.aggregation.results.measured_arms import MeasuredArm, identical_measured
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.tables.columns import (
    DIVERGED_COLUMN,
    difference_of,
    difference_values,
    diverged_cell,
    group_name,
    matched_values,
    verdict_of,
    with_departures,
)
from sweeps.aggregation.tables.evaluations_notes import (
    axis_text,
    compared_notes,
    evaluation_lead,
    evaluation_text,
)
from sweeps.aggregation.tables.headlines import evaluation_headline
from sweeps.records.manifest import Manifest

MOST_POINTS = 6
_CLEAN = "from_clean_points"


def compared_evaluation_table(
    manifest: Manifest,
    evaluated: ComparedEvaluation,
    predictions: Mapping[str, Predictions],
    name: str,
    *,
    of_test_errors: Sequence[Comparison] = (),
) -> Table:
    """Return one row per arm, in the manifest's order; programs get one per arm and point as well.

    Args:
        manifest: The sweep's arms and margin.
        evaluated: The arms compared by the evaluation.
        predictions: Predictions by trial key, for what arms lose against their own test error.
        name: Of the table.
        of_test_errors: The arms' test errors compared, where trials stop in a window.
    """
    primary = evaluated.primary
    clean = {
        measured.arm.arm.name: difference_from_clean(measured, primary.figure, predictions)
        for measured in primary.arms
    }
    points = chosen(evaluated.points)
    is_whole = all(len(measured.errors) == len(measured.arm.trials) for measured in primary.arms)
    rows = [
        _row(group, evaluated, points, clean[group[0].arm.arm.name], is_whole=is_whole)
        for group in identical_measured(primary.arms)
    ]
    of_points = (_point_column(point, place) for place, point in enumerate(points))
    table = Table(
        name=name,
        title=f"Evaluation {evaluation_text(evaluated.evaluation)} of {manifest.sweep}, by arm",
        lead=evaluation_lead(manifest, evaluated),
        headline=evaluation_headline(evaluated, manifest.margin_points),
        columns=(*_columns(evaluated), *of_points, *_LAST),
        rows=tuple(rows),
        notes=tuple(compared_notes(manifest, evaluated, f"{name}.csv", of_test_errors)),
        for_programs=evaluation_values(evaluated, clean, name, of_test_errors),
    )
    return with_departures(manifest, table)


def chosen(points: Sequence[ComparedFigure]) -> Sequence[ComparedFigure]:
    """Return the points that readers see: the first, the last, and others evenly between them."""
    if len(points) <= MOST_POINTS:
        return points
    last, steps = len(points) - 1, MOST_POINTS - 1
    return [points[(2 * last * step + steps) // (2 * steps)] for step in range(MOST_POINTS)]


_LAST = (
    Column("Parameters", ("num_parameters",)),
    Column("Multiply-adds", ("num_multiply_adds",), hide_if_empty=True),
    DIVERGED_COLUMN,
)


def _columns(evaluated: ComparedEvaluation) -> tuple[Column, ...]:
    """Return the columns of the primary figure: those that a narrow terminal shows first."""
    figure = evaluated.primary.figure
    text = figure.metric.text
    title = f"Mean {text}" if len(figure.weights) > 1 else f"{text[0].upper()}{text[1:]}"
    clean = Column("From clean", (_CLEAN, f"{_CLEAN}_low", f"{_CLEAN}_high"))
    compared = (
        Column("Difference", ("difference", "low", "high", "difference_n"), is_answer=True),
        Column("Verdict", ("verdict",), align="left", is_answer=True),
    )
    return (
        Column("Arm", ("arm", "is_baseline"), align="left"),
        Column("n", ("n", "num_planned"), hide_if_empty=True),
        Column(heading(figure.metric, title), tuple(f"mean{end}" for end in MEAN_ENDS)),
        *(compared if evaluated.primary.compared else ()),
        *((clean,) if figure.is_error else ()),
    )


def _point_column(point: ComparedFigure, place: int) -> Column:
    at = point.figure.metric.at
    assert at is not None
    return Column(f"{axis_text(at)} {at.value:g}", (f"point_{place}",))


def _row(
    group: Sequence[MeasuredArm],
    evaluated: ComparedEvaluation,
    points: Sequence[ComparedFigure],
    clean: Interval | None,
    *,
    is_whole: bool,
) -> tuple[Cell, ...]:
    """Return the row of arms with identical results."""
    first, metric = group[0], evaluated.primary.figure.metric
    name = first.arm.arm.name
    arms = [measured.arm for measured in group]
    is_baseline = any(arm.is_baseline for arm in arms)
    counted = count_cell(len(first.errors), len(first.arm.trials))
    compared = evaluated.primary.by_arm.get(name)
    differences = (difference_of(compared, len(first.errors)), verdict_of(compared))
    return (
        Cell(group_name(arms), (name, is_baseline)),
        replace(counted, text="") if is_whole else counted,
        measured_cell(mean_of_measured(first).interval, metric),
        *(differences if evaluated.primary.compared else ()),
        *((_clean_cell(clean, metric),) if evaluated.primary.figure.is_error else ()),
        *(_point_cell(evaluated, point, name) for point in points),
        integer_cell(first.arm.arm.num_parameters),
        _multiply_adds_cell(first.arm.arm.num_multiply_adds),
        diverged_cell(first.arm),
    )


def _clean_cell(clean: Interval | None, metric: Metric) -> Cell:
    shown = shown_interval(clean or Interval(0, None, None, None), metric)
    text = "" if shown.mean is None else number_text(shown.mean, sign="+")
    return Cell(text, (shown.mean, shown.low, shown.high))


def _multiply_adds_cell(number: int | None) -> Cell:
    return Cell("", (None,)) if number is None else integer_cell(number)


def _point_cell(evaluated: ComparedEvaluation, point: ComparedFigure, name: str) -> Cell:
    measured = next(measured for measured in point.arms if measured.arm.arm.name == name)
    mean = shown_value(mean_of_measured(measured).interval.mean, point.figure.metric)
    text = "" if mean is None else number_text(mean)
    return Cell(text, (mean,), is_bold=evaluated.is_marked(name, point))


def evaluation_values(
    evaluated: ComparedEvaluation,
    clean: Mapping[str, Interval | None],
    name: str,
    of_test_errors: Sequence[Comparison] = (),
) -> Table:
    """Return one row per arm and figure: the primary one and each point of its curve.

    Fractions are in percent, differences in percentage points.

    Args:
        evaluated: The arms compared by the evaluation.
        clean: By arm, how far the primary figure lies above its own test error.
        name: Of the table.
        of_test_errors: The arms' test errors compared, where trials stop in a window.
    """
    of_matching = matched_values(
        [measured.arm for measured in evaluated.primary.arms], of_test_errors
    )
    rows = [
        _values(evaluated, figure, measured, clean.get(measured.arm.arm.name))
        | of_matching.get(measured.arm.arm.name, {})
        for figure in (evaluated.primary, *evaluated.points)
        for measured in figure.arms
    ]
    return values_table(name, rows)


def _values(
    evaluated: ComparedEvaluation,
    compared: ComparedFigure,
    measured: MeasuredArm,
    clean: Interval | None,
) -> dict[str, Value]:
    metric, evaluation = compared.figure.metric, evaluated.evaluation
    arm, is_primary = measured.arm, compared is evaluated.primary
    mean = shown_interval(mean_of_measured(measured).interval, metric)
    difference = compared.by_arm.get(arm.arm.name)
    is_different = bool(difference and difference.is_different)
    is_marked = is_different if is_primary else evaluated.is_marked(arm.arm.name, compared)
    lost = shown_interval(clean, metric) if is_primary and clean else None
    return {
        "evaluation": evaluation.kind,
        "evaluation_key": evaluation.evaluation_key,
        "figure": "primary" if is_primary else "point",
        "metric": metric.name,
        "unit": metric.unit,
        "split": evaluation.looks_at,
        **coordinate_values(metric.at),
        "arm": arm.arm.name,
        "is_baseline": arm.is_baseline,
        "n": len(measured.errors),
        "num_planned": len(arm.trials),
        "mean_percent": mean.mean,
        "mean_percent_low": mean.low,
        "mean_percent_high": mean.high,
        "mean_percent_sd": mean.deviation,
        "is_bold": is_marked,
        **difference_values(difference),
        "num_together": difference.num_together if difference else None,
        "simultaneous_half_width_points": _half(difference, metric),
        _CLEAN: lost.mean if lost else None,
        f"{_CLEAN}_low": lost.low if lost else None,
        f"{_CLEAN}_high": lost.high if lost else None,
        "num_parameters": arm.arm.num_parameters,
        "num_multiply_adds": arm.arm.num_multiply_adds,
        "num_diverged": arm.count("diverged"),
    }


def trial_values(evaluated: ComparedEvaluation, name: str) -> Table:
    """Return one row per arm, seed and metric, as recorded: a share of images is a fraction.

    An arm's figure is the mean over its seeds of the sum of `value` times `weight`.

    Args:
        evaluated: The arms compared by the evaluation.
        name: Of the table.
    """
    key, primary = evaluated.evaluation.evaluation_key, evaluated.primary
    figures = (primary.figure, *(point.figure for point in evaluated.points))
    metrics = {metric: None for figure in figures for metric in figure.weights}
    by_name = {metric.name: metric for metric in evaluated.evaluation.metrics}
    rows: list[dict[str, Value]] = [
        {
            "arm": measured.arm.arm.name,
            "seed": seed,
            "trial_key": measured.arm.counted[seed].trial_key,
            "metric": metric,
            "unit": by_name[metric].unit,
            **coordinate_values(by_name[metric].at),
            "value": measured.arm.counted[seed].evaluations[key].get(metric),
            "weight": primary.figure.weights.get(metric, 0.0),
        }
        for measured in primary.arms
        for seed in measured.errors
        for metric in metrics
    ]
    return values_table(name, rows)


def coordinate_values(at: Coordinate | None) -> dict[str, Value]:
    """Return the coordinate at which a metric is measured. All values are None without one."""
    return {
        "coordinate": at.name if at else None,
        "at": at.value if at else None,
        "axis_unit": (at.unit or None) if at else None,
    }


def _half(comparison: Comparison | None, metric: Metric) -> float | None:
    together = comparison.simultaneous if comparison else None
    return shown_value(together.half_width if together else None, metric)


def names_of_tables(evaluated: Sequence[ComparedEvaluation], name: str) -> Iterator[str]:
    """Yield the name of each evaluation's table, with a number where a kind is declared twice."""
    seen = list[str]()
    for compared in evaluated:
        kind = compared.evaluation.kind
        seen.append(kind)
        yield f"{name}-{kind}"[:60] + (f"-{seen.count(kind)}" if seen.count(kind) > 1 else "")
