"""Figures of arms by data sets: a forest plot of differences, and average ranks."""

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from capsmodel.metrics import Metric, percent
from sweeps.aggregation.rendering.figure_style import (
    BLUE,
    GREY,
    GRID,
    ORANGE,
    WIDTH_INCHES,
    drawable,
)
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.data_set_results import (
    DataSetColumn,
    DataSetResults,
    OverallComparison,
)
from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.records.plain_text import one_line, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLACK = "#222222"
_DASHES: tuple[Any, ...] = (0, (2, 1.5))
_PANELS_BESIDE = 3
MOST_PANELS = 30
"""Nobody reads more: the table has the other arms."""

_LABEL_CHARACTERS = 26
_LOOK_OF_LEGEND: dict[str, Any] = {
    "loc": "outside lower center",
    "ncols": 2,
    "frameon": False,
    "fontsize": 8,
}


def forest_figure(results: DataSetResults, title: str, metric: Metric) -> "Figure":
    """Return a panel an arm: its difference from the baseline on each data set, and over all.

    Call it inside `figure_style`. Where verdicts over all are on relative errors, so are all
    panels.

    Args:
        results: The arms compared.
        title: What stands above it.
        metric: What arms are compared by.
    """
    from matplotlib.figure import Figure  # here, as it takes half a second to import

    compared = _panels(results)
    shown = compared[:MOST_PANELS]
    beside = min(_PANELS_BESIDE, max(len(shown), 1))
    num_lines = math.ceil(len(shown) / beside) or 1
    labels = [_label(column.name) for column in results.columns]
    labels += ["Overall"] * _has_overall(results)
    height = 0.8 + num_lines * (0.75 + 0.19 * sum(1 + label.count("\n") for label in labels))
    figure = Figure(figsize=(WIDTH_INCHES, height), layout="constrained")
    panels = figure.subplots(num_lines, beside, sharex=True, sharey=True, squeeze=False).flat
    text = "Difference (points)" if results.scale == "points" else "Relative difference (%)"
    for place, axes in enumerate(panels):
        if place >= len(shown):
            axes.set_visible(False)
            continue
        _draw_arm(axes, shown[place], results, metric)
        _label_rows(axes, labels)
        if place + beside >= len(shown):
            axes.tick_params(labelbottom=True)
            axes.set_xlabel(text, fontsize=8)
    more = len(compared) - len(shown)
    rest = f" (the first {len(shown)} arms; {more} more in the table)" * (more > 0)
    figure.suptitle(drawable(f"{title}{rest}"), x=0.01, ha="left", fontsize=10, parse_math=False)
    if entries := _legend(results):
        figure.legend(*zip(*entries, strict=True), **_LOOK_OF_LEGEND)
    return figure


def _panels(results: DataSetResults) -> Sequence[OverallComparison]:
    """Return what each panel is of; without verdicts over all data sets, the arms of the cells."""
    names = dict.fromkeys(name for column in results.columns for name in column.cells)
    return results.overall or [OverallComparison((name,), results.scale) for name in names]


def _has_overall(results: DataSetResults) -> bool:
    """Whether any arm has a difference over all data sets."""
    return any(overall.difference is not None for overall in results.overall)


def _label(name: str) -> str:
    """Return a name in at most two lines."""
    first, *others = textwrap.wrap(drawable(one_line(name)), _LABEL_CHARACTERS) or [""]
    return "\n".join([first, *([shortened(" ".join(others), _LABEL_CHARACTERS)] if others else [])])


def _label_rows(axes: "Axes", labels: Sequence[str]) -> None:
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(labelsize=8)
    axes.tick_params(axis="y", length=0)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)  # a dollar in a name is a dollar
    axes.grid(axis="x", color=GRID, lw=0.6)
    axes.set_axisbelow(True)


def _draw_arm(
    axes: "Axes", overall: OverallComparison, results: DataSetResults, metric: Metric
) -> None:
    weight = "bold" if overall.is_different else "normal"
    title = _label(" = ".join(overall.arms))
    axes.set_title(title, loc="left", fontsize=9, fontweight=weight, parse_math=False)
    axes.axvline(0, color=_BLACK, lw=0.9, zorder=1)
    for place, column in enumerate(results.columns):
        comparison = column.cells.get(overall.arms[0])
        factor = metric.shown(1.0) if results.scale == "points" else _of_baseline(column)
        if comparison is not None and comparison.difference.mean is not None and factor:
            _draw_cell(axes, place, comparison, factor)
        else:
            is_same = overall.arms[0] in column.identical
            _say(axes, place, "as the baseline" if is_same else "no result")
    if not _has_overall(results):
        return
    last = len(results.columns)
    axes.axhline(last - 0.5, color=GREY, lw=0.6, zorder=1)
    if overall.difference is None or overall.difference.mean is None:
        _say(axes, last, "none: see the table")
    else:
        _draw_overall(axes, last, overall, overall.difference)


def _of_baseline(column: DataSetColumn) -> float:
    """Return what turns a difference into percent of the baseline's mean error, 0 without one."""
    baseline = column.arms.get(column.baseline)
    errors = sorted(baseline.errors.values()) if baseline else []
    return percent(len(errors) / sum(errors)) if sum(errors) else 0.0


def _say(axes: "Axes", place: int, text: str) -> None:
    look: dict[str, Any] = {"style": "italic", "color": GREY, "fontsize": 7, "va": "center"}
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    axes.text(0.02, place, text, transform=axes.get_yaxis_transform(), bbox=box, **look)


def _draw_cell(axes: "Axes", place: int, comparison: Comparison, factor: float) -> None:
    alone = comparison.difference
    colour = BLUE if comparison.way is not None else GREY
    if comparison.way is None:
        _draw_line(axes, place, alone, factor, color=GREY, lw=1.2, ls=_DASHES)
    else:
        _draw_together(axes, place, comparison.simultaneous, factor, colour=BLUE)
        _draw_line(axes, place, alone, factor, color=BLUE, lw=2.6)
    face = colour if comparison.is_different else "white"
    look: dict[str, Any] = {"marker": "o", "ms": 5, "mec": colour, "mew": 1.2, "mfc": face}
    axes.plot([factor * (alone.mean or 0.0)], [place], zorder=4, **look)


def _draw_overall(
    axes: "Axes", place: int, overall: OverallComparison, difference: Interval
) -> None:
    """Draw a diamond from one end of the interval to the other."""
    _draw_together(axes, place, overall.simultaneous, percent(1), colour=_BLACK)
    mean = difference.mean or 0.0
    ends = [mean if end is None else end for end in (difference.low, difference.high)]
    corners = [percent(value) for value in (ends[0], mean, ends[1], mean)]
    face = _BLACK if overall.is_different else "white"
    heights = [place, place - 0.25, place, place + 0.25]
    axes.fill(corners, heights, facecolor=face, edgecolor=_BLACK, lw=1.1, zorder=4)


def _draw_together(
    axes: "Axes", place: int, interval: Interval | None, factor: float, *, colour: str
) -> None:
    """Draw an interval that holds for all together, up to the frame: it sets no limits.

    Those of few seeds may be several times as wide as all that is to be seen.
    """
    from matplotlib.lines import Line2D

    if interval is not None and interval.low is not None and interval.high is not None:
        ends = [factor * interval.low, factor * interval.high]
        axes.add_artist(Line2D(ends, [place, place], color=colour, lw=0.8, zorder=3))


def _draw_line(
    axes: "Axes", place: int, interval: Interval | None, factor: float, **look: Any
) -> None:
    if interval is not None and interval.low is not None and interval.high is not None:
        ends = [factor * interval.low, factor * interval.high]
        axes.plot(ends, [place, place], zorder=3, solid_capstyle="butt", **look)


def _legend(results: DataSetResults) -> list[tuple[object, str]]:
    from matplotlib.lines import Line2D

    def marker(shape: str, colour: str) -> Line2D:
        return Line2D([], [], color=colour, marker=shape, ms=5, lw=0)

    compared = [each for column in results.columns for each in column.cells.values()]
    num_overall = sum(overall.difference is not None for overall in results.overall)
    together = f" for all points{', or diamonds,' * (num_overall > 1)} together"
    if num_overall == 1:
        together = ", as wide as verdicts need"
    entries: list[tuple[object, str]] = []
    if any(each.way is not None for each in compared):
        entries = [
            (Line2D([], [], color=BLUE, lw=2.6), "95 %, for new seeds and new images"),
            (Line2D([], [], color=BLUE, lw=0.8), f"the same{together}"),
            (marker("o", BLUE), "on a data set; filled: different"),
        ]
    if num_overall:
        text = "over all, as wide as its 95 %; filled: different"
        entries.append((marker("D", _BLACK), text))
    if any(each.way is None and each.difference.mean is not None for each in compared):
        alone = Line2D([], [], color=GREY, lw=1.2, ls=_DASHES, marker="o", mfc="white", ms=5)
        entries.append((alone, "seeds alone, no verdict"))
    return entries


def ranks_figure(results: DataSetResults, sweep: str) -> "Figure":
    """Return the arms by their average rank, the best first, with the critical difference.

    Call it inside `figure_style`.

    Args:
        results: The arms compared, with their ranks.
        sweep: Its name.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    ranks = results.ranks
    assert ranks is not None
    order = sorted(ranks.ranks, key=lambda name: ranks.ranks[name])
    baseline = next(column.baseline for column in results.columns if column.baseline)
    labels = [_label(name) for name in order]
    height = 1.2 + 0.22 * sum(1 + label.count("\n") for label in labels)
    figure = Figure(figsize=(WIDTH_INCHES, height), layout="constrained")
    axes = figure.subplots()
    middle, critical = ranks.ranks[baseline], ranks.critical_difference
    axes.axvspan(middle - critical, middle + critical, color=ORANGE, alpha=0.13, lw=0, zorder=0)
    _label_rows(axes, labels)
    for place, (name, label) in enumerate(zip(order, axes.get_yticklabels(), strict=True)):
        colour, shape = (ORANGE, "s") if name == baseline else (BLUE, "o")
        axes.plot([ranks.ranks[name]], [place], shape, color=colour, ms=5.5, zorder=3)
        is_other = ranks.adjusted_p.get(name, 1.0) < SIGNIFICANCE
        label.set_fontweight("bold" if is_other else "normal")
    axes.set_xlim(0.8, len(order) + 0.2)
    axes.set_xlabel("Average rank, 1 for the smallest error", fontsize=8)
    title = drawable(f"{one_line(sweep)}: average ranks over {ranks.num_data_sets} data sets")
    axes.set_title(title, loc="left", fontsize=10, parse_math=False)
    band = f"within {critical:.2f} of the baseline (critical difference)"
    entries: list[tuple[Any, str]] = [
        (Line2D([], [], color=ORANGE, marker="s", ms=5.5, lw=0), "baseline"),
        (Patch(color=ORANGE, alpha=0.2, lw=0), band),
    ]
    figure.legend(*zip(*entries, strict=True), **_LOOK_OF_LEGEND)
    return figure
