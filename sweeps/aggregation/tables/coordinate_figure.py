"""A metric over the coordinate of an evaluation, such as the error over epsilon, by arm."""

import math
import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from search_spaces.tables import Curve
from sweeps.aggregation.rendering.contents import Figure, Section
from sweeps.aggregation.rendering.figure_style import GRID, ORANGE, WIDTH_INCHES, drawable
from sweeps.aggregation.rendering.measured import heading, shown_interval
from sweeps.aggregation.results.departures import departure_sentence
from sweeps.aggregation.results.evaluation_comparisons import (
    ComparedEvaluation,
    ComparedFigure,
    mean_of_measured,
)
from sweeps.aggregation.results.measured_arms import MeasuredArm
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.curves_figure import MOST_LINES, draw_legend, line_looks
from sweeps.aggregation.tables.evaluations_notes import axis_text, evaluation_text
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_LABEL_CHARACTERS = 34
_LINE_CHARACTERS = 105
_MOST_TICKS = 12


def make_curve(declared: Curve, results: Results) -> Section:
    """Return a figure of each evaluation whose curve is over the coordinate.

    Raises:
        BadInput: If there is none.
    """
    shown = [evaluation for evaluation in results.evaluated if is_of(declared, evaluation)]
    if not shown:
        raise BadInput(
            f"Figure '{declared.name}' is over '{declared.x}', and no evaluation of the sweep "
            f"'{results.manifest.sweep}' has a curve over it."
        )
    names = [declared.name, *(f"{declared.name}-{n}" for n in range(2, len(shown) + 1))]
    return Section(
        name=declared.name,
        kind=declared.kind,
        figures=tuple(
            evaluation_figure(results.manifest, evaluation, name)
            for evaluation, name in zip(shown, names, strict=True)
        ),
        title=f"Curves over {declared.x.replace('_', ' ')}",
    )


def is_of(declared: Curve, evaluated: ComparedEvaluation) -> bool:
    """Return whether a declared figure shows the curve of an evaluation."""
    axis = axis_of(evaluated)
    kind = declared.evaluation
    return axis == declared.x and kind in ("", evaluated.evaluation.kind)


def axis_of(evaluated: ComparedEvaluation) -> str:
    """Return the name of the coordinate of an evaluation's curve, "" where it has none."""
    at = evaluated.points[0].figure.metric.at if evaluated.points else None
    return at.name if at else ""


def evaluation_figure(manifest: Manifest, evaluated: ComparedEvaluation, name: str) -> Figure:
    """Return the figure of an evaluation's curve."""
    return Figure(name, partial(coordinate_figure, manifest, evaluated))


def coordinate_figure(manifest: Manifest, evaluated: ComparedEvaluation) -> "Drawing":
    """Return the figure. Call it inside `figure_style`.

    A line is the mean over an arm's seeds. Its band covers new seeds and new images at each point
    by itself. Points are filled where the table has them in bold.
    """
    from matplotlib.figure import Figure as Drawing  # here, as it takes half a second to import

    names = [measured.arm.arm.name for measured in evaluated.points[0].arms if measured.errors]
    arms = names[:MOST_LINES]
    notes = "\n".join(
        line
        for note in _notes(manifest, evaluated, arms)
        for line in textwrap.wrap(drawable(note), _LINE_CHARACTERS)
    )
    height = 3.1 + 0.15 * (notes.count("\n") + 1) + 0.17 * math.ceil(len(arms) / 2)
    figure = Drawing(figsize=(WIDTH_INCHES, height), layout="constrained")
    axes = figure.add_subplot()
    looks = line_looks()
    for arm in arms:
        _draw_arm(axes, evaluated, arm, looks)
    _dress(axes, manifest, evaluated)
    draw_legend(figure, axes, notes)
    return figure


def _draw_arm(
    axes: "Axes",
    evaluated: ComparedEvaluation,
    name: str,
    looks: "Iterator[tuple[str, object]]",
) -> None:
    """Draw the line of an arm with its band, through the points that it has."""
    drawn = [(point, _of(point, name)) for point in evaluated.points]
    drawn = [(point, measured) for point, measured in drawn if measured.errors]
    first = drawn[0][1].arm
    colour, dashes = (ORANGE, "-") if first.is_baseline else next(looks)
    means = [
        shown_interval(mean_of_measured(measured).interval, point.figure.metric)
        for point, measured in drawn
    ]
    places = [_place(point) for point, _ in drawn]
    heights = [mean.mean or 0.0 for mean in means]
    if all(mean.low is not None for mean in means):
        low, high = [mean.low or 0.0 for mean in means], [mean.high or 0.0 for mean in means]
        axes.fill_between(places, low, high, color=colour, alpha=0.15, lw=0, zorder=2)
    label = shortened(drawable(one_line(name)), _LABEL_CHARACTERS)
    order = 4 if first.is_baseline else 3
    axes.plot(
        places,
        heights,
        color=colour,
        ls=dashes,
        lw=1.5,
        zorder=order,
        label=f"{label} (baseline)" if first.is_baseline else label,
    )
    for place, mean, (point, _) in zip(places, heights, drawn, strict=True):
        fill = colour if evaluated.is_marked(name, point) else "white"
        axes.plot([place], [mean], "o", ms=4.5, color=colour, mfc=fill, zorder=order + 0.5)


def _of(point: ComparedFigure, name: str) -> MeasuredArm:
    return next(measured for measured in point.arms if measured.arm.arm.name == name)


def _place(point: ComparedFigure) -> float:
    at = point.figure.metric.at
    assert at is not None
    return at.value


def _dress(axes: "Axes", manifest: Manifest, evaluated: ComparedEvaluation) -> None:
    metric = evaluated.points[0].figure.metric
    assert metric.at is not None
    axis = axis_text(metric.at)
    curve_text = metric.words.removesuffix(f", {metric.at.text}") or metric.curve
    unit = f" ({metric.at.unit})" if metric.at.unit else ""
    axes.set_xlabel(f"{axis[0].upper()}{axis[1:]}{unit}")
    axes.set_ylabel(heading(metric, curve_text.capitalize()))
    places = [_place(point) for point in evaluated.points]
    if len(places) <= _MOST_TICKS:
        axes.set_xticks(places, [f"{place:g}" for place in places])
    axes.grid(axis="y", color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    title = f"{manifest.sweep}, {evaluated.evaluation.kind}: {curve_text} over {axis}"
    axes.set_title(shortened(drawable(title), 90), loc="left", fontsize=10, parse_math=False)


def _notes(manifest: Manifest, evaluated: ComparedEvaluation, arms: Sequence[str]) -> Iterator[str]:
    if sentence := departure_sentence(manifest):
        yield sentence
    if evaluated.evaluation.settings:
        yield shortened(f"Evaluation: {evaluation_text(evaluated.evaluation)}.", 300)
    if not arms:
        yield "No trial has a result."
        return
    means = [mean_of_measured(_of(point, arm)) for point in evaluated.points for arm in arms]
    if any(mean.errors for mean in means):
        images = f"{evaluated.evaluation.looks_at} images"
        yield (
            f"Line: mean over the seeds. Band: 95 %, for new seeds and new {images}, at each point "
            f"by itself. Two bands may overlap where the arms differ."
        )
    else:
        yield "Line: mean over the seeds; no band, as it takes values by image and three seeds."
    if any(point.compared for point in evaluated.points):
        yield "Filled points: the arm differs from the baseline, in its mean and at this point."
    more = sum(bool(measured.errors) for measured in evaluated.points[0].arms) - len(arms)
    if more:
        yield f"It shows the first {len(arms)} arms; {more} others are left out."
