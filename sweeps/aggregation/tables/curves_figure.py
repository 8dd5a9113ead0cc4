"""A metric over the epochs, by arm: the figure and the numbers behind it."""

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from capsmodel.metrics import Metric
from search_spaces.tables import CurvesFigure
from sweeps.aggregation.rendering import contents
from sweeps.aggregation.rendering.figure_style import (
    COLOURS,
    DASHES,
    GRID,
    ORANGE,
    WIDTH_INCHES,
    drawable,
)
from sweeps.aggregation.rendering.measured import field_name, heading
from sweeps.aggregation.rendering.table import Table, data_table
from sweeps.aggregation.results.arm_curves import ArmCurve, arm_curves, finished_trials
from sweeps.aggregation.results.arms import gap_text
from sweeps.aggregation.results.departures import departure_sentence
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.results.targets import missed
from sweeps.aggregation.tables.columns import MISSED_MARK
from sweeps.aggregation.tables.notes import target_notes
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BASELINE_LOOK: tuple[str, Any] = (ORANGE, "-")
MOST_LINES = 1 + len(COLOURS) * len(DASHES)
_LABEL_CHARACTERS = 34
_LINE_CHARACTERS = 105


def make_curves(declared: CurvesFigure, results: Results) -> contents.Section:
    """Return the figure with the numbers behind it. Reads the curves from the store.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    manifest, records = results.manifest, results.records
    histories = results.histories(finished_trials(manifest, records), declared.metric)
    curves = arm_curves(manifest, records, histories)
    return contents.Section(
        name=declared.name,
        kind=declared.kind,
        figures=(
            contents.Figure(declared.name, partial(curves_figure, manifest, curves, declared)),
        ),
        data=(curves_data(declared.name, curves, manifest.metric(declared.metric)),),
        title=f"Learning curves: {manifest.metric(declared.metric).text}",
    )


def curves_figure(manifest: Manifest, curves: Sequence[ArmCurve], spec: CurvesFigure) -> "Figure":
    """Return the figure. Call it inside `figure_style`.

    A line is the mean over an arm's seeds, its band goes from the lowest to the highest seed. It
    ends with the last epoch that all its seeds have. Trials that did not run to their end are left
    out, which the figure says. Of a search that has chosen its best arms these are drawn, and the
    reference.
    """
    from matplotlib.figure import Figure  # here, as it takes half a second to import

    metric = manifest.metric(spec.metric)
    curves = [shown_curve(curve, metric) for curve in _to_draw(manifest, curves)]
    drawn = list(islice((curve for curve in curves if curve.points), MOST_LINES))
    notes = _wrapped(_notes(manifest, curves, drawn))
    height = 3.1 + 0.15 * (notes.count("\n") + 1) + 0.17 * math.ceil(len(drawn) / 2)
    figure = Figure(figsize=(WIDTH_INCHES, height), layout="constrained")
    axes = figure.add_subplot()
    _draw_lines(axes, drawn)
    _dress(axes, manifest, spec, is_empty=not drawn)
    draw_legend(figure, axes, notes)
    return figure


def shown_curve(curve: ArmCurve, metric: Metric) -> ArmCurve:
    """Return a curve in the unit that readers are shown."""
    points = {epoch: tuple(map(metric.shown, values)) for epoch, values in curve.points.items()}
    return replace(curve, points=points)


def _to_draw(manifest: Manifest, curves: Sequence[ArmCurve]) -> list[ArmCurve]:
    confirmation = manifest.search.confirmation if manifest.search else None
    if confirmation is None or not confirmation.arms:
        return list(curves)
    by_name = {curve.arm.arm.name: curve for curve in curves}
    return [by_name[name] for name in confirmation.confirmed]


def _wrapped(notes: Iterator[str]) -> str:
    return "\n".join(
        line for note in notes for line in textwrap.wrap(drawable(note), _LINE_CHARACTERS)
    )


def _notes(
    manifest: Manifest, curves: Sequence[ArmCurve], drawn: Sequence[ArmCurve]
) -> Iterator[str]:
    if sentence := departure_sentence(manifest):
        yield sentence
    if not drawn:
        yield "No trial has run to its end."
    elif any(len(curve.seeds) > 1 for curve in drawn):
        yield "Line: mean over the seeds. Band: from the lowest to the highest seed."
    else:
        yield "One seed per arm, no band."
    if manifest.search and len(curves) < len(manifest.arms):
        confirmation = manifest.search.confirmation
        against = (
            [arm for arm in confirmation.confirmed if arm not in (confirmation.arms or ())]
            if confirmation
            else []
        )
        name = f" ({', '.join(map(one_line, against))})" if against else ""
        yield f"It shows the confirmed arms and what they are compared with{name}."
    if any(curve.is_cut for curve in drawn):
        yield "A line ends with the last epoch that all its seeds have."
    yield from _left_out_notes(curves)
    yield from target_notes([curve.arm for curve in drawn])
    more = sum(bool(curve.points) for curve in curves) - len(drawn)
    if more:
        yield f"It shows the first {len(drawn)} arms; {more} others are left out."


def _left_out_notes(curves: Sequence[ArmCurve]) -> Iterator[str]:
    without = [f"{one_line(c.arm.arm.name)} ({_left_out(c)})" for c in curves if _left_out(c)]
    if without:
        yield shortened(f"Left out, as they did not run to their end: {'; '.join(without)}.", 400)
    unmeasured = [one_line(curve.arm.arm.name) for curve in curves if curve.num_unmeasured]
    if unmeasured:
        yield shortened(
            f"Left out, as no part of theirs measures it: {', '.join(unmeasured)}.", 400
        )


def _left_out(curve: ArmCurve) -> str:
    """Return the outcomes of an arm's trials that did not finish, "" where all did."""
    gone = len(curve.arm.trials) - len(curve.seeds) - curve.num_unmeasured
    return "" if not gone else gap_text(curve.arm) or f"{gone} stopped"


def _draw_lines(axes: "Axes", drawn: Sequence[ArmCurve]) -> None:
    looks = line_looks()
    for curve in drawn:
        colour, dashes = _BASELINE_LOOK if curve.arm.is_baseline else next(looks)
        epochs = list(curve.points)
        if len(curve.seeds) > 1:
            axes.fill_between(epochs, *curve.ends, color=colour, alpha=0.15, lw=0, zorder=2)
        axes.plot(
            epochs,
            curve.means,
            color=colour,
            ls=dashes,
            lw=1.5,
            marker="o" if len(epochs) == 1 else "",
            zorder=4 if curve.arm.is_baseline else 3,
            label=_label(curve),
        )


def line_looks() -> Iterator[tuple[str, Any]]:
    """Yield colours with dashes, neighbours unlike in both: equal lines show through each other."""
    for turn in range(len(DASHES)):
        for place, colour in enumerate(COLOURS):
            yield colour, DASHES[(place + turn) % len(DASHES)]
    yield _BASELINE_LOOK  # where there is no baseline to draw


def _label(curve: ArmCurve) -> str:
    name = shortened(drawable(one_line(curve.arm.arm.name)), _LABEL_CHARACTERS)
    name += " (baseline)" if curve.arm.is_baseline else ""
    name += f" {MISSED_MARK}" if missed(curve.arm) else ""
    planned, drawn = len(curve.arm.trials), len(curve.seeds)
    return name if drawn == planned else f"{name}, n = {drawn} of {planned}"


def _dress(axes: "Axes", manifest: Manifest, spec: CurvesFigure, is_empty: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    metric = manifest.metric(spec.metric)
    text = metric.text
    axes.set_xlabel("Epoch")
    axes.set_ylabel(heading(metric, text.capitalize()))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.grid(axis="y", color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    axes.set_title(
        f"{manifest.sweep}: {text} over the epochs", loc="left", fontsize=10, parse_math=False
    )
    if is_empty:
        axes.set(xticks=[], yticks=[])


def draw_legend(figure: "Figure", axes: "Axes", notes: str) -> None:
    """Draw the legend of lines below a figure, its notes above it."""
    handles, labels = axes.get_legend_handles_labels()
    legend = figure.legend(
        handles,
        labels,
        loc="outside lower left",
        ncols=2,
        frameon=False,
        fontsize=8,
        title=notes,
        title_fontsize=8,
        alignment="left",
    )
    for text in (legend.get_title(), *legend.get_texts()):
        text.set_parse_math(False)  # a dollar in a name is a dollar


def curves_data(name: str, curves: Sequence[ArmCurve], metric: Metric) -> Table:
    """Return the numbers behind the lines: one row per arm and epoch. Fractions are in percent."""
    field = field_name(metric)
    header = ("arm", "epoch", "n", field, f"{field}_lowest", f"{field}_highest")
    rows = (
        (shown.arm.arm.name, epoch, len(shown.seeds), *map(_finite, values))
        for shown in (shown_curve(curve, metric) for curve in curves)
        for epoch, *values in zip(shown.points, shown.means, *shown.ends, strict=True)
    )
    return data_table(name, header, rows)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
