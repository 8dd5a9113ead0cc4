"""The figures of a search's sensitivity: importance by setting, and the objective by value."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from capsmodel.metrics import percent
from sweeps.aggregation.rendering.figure_style import (
    BLUE,
    GREY,
    GRID,
    ORANGE,
    WIDTH_INCHES,
    drawable,
    setting_label,
)
from sweeps.aggregation.rendering.measured import ends_around_mean, measured_interval
from sweeps.aggregation.sensitivity.sample import FEWEST_TRIALS
from sweeps.aggregation.sensitivity.sensitivity import Marginal, Sensitivity, SettingSensitivity
from sweeps.aggregation.sensitivity.setting_axis import SettingAxis
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.tables.search_figure import is_wide, objective_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PALE_BLUE = "#A9CCE3"
_MISSING = {
    "few": f"fewer than {FEWEST_TRIALS} counted trials",
    "kinds": "fewer than two counted trials a kind",
    "equal results": "all results are equal",
    "one value": "only one value among the counted trials",
}
_PANELS_ABREAST = 3
_MARKER_POINTS = 2.0  # of error, in which half a marker at 0 or 100 % has room
FEWEST_OF_AN_INTERVAL = 3  # that of two is thirteen times as wide as their spread


def importance_figure(sensitivity: Sensitivity) -> "Figure":
    """Return the importances as bars."""
    from matplotlib.figure import Figure

    settings = sensitivity.settings
    labels = [label_of(sensitivity, setting, 34) for setting in settings]
    height = 1.5 + sum(0.28 + 0.12 * label.count("\n") for label in labels)
    figure = Figure(figsize=(WIDTH_INCHES, height), layout="constrained")
    axes = figure.add_subplot()
    for place, setting in enumerate(settings):
        _draw_setting(axes, place, setting, sensitivity)
    axes.axvline(0, color=GREY, lw=0.8, zorder=2)
    axes.set_yticks(range(len(labels)), labels)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("Share of the variance that it explains alone (%)")
    _title(axes, sensitivity)
    _importance_draw_key(figure, sensitivity)
    return figure


def _title(axes: "Axes", sensitivity: Sensitivity) -> None:
    epoch = sensitivity.sample.epoch
    when = "" if epoch is None else f", after epoch {epoch}"
    title = f"{sensitivity.results.sweep}: how much each setting matters{when}"
    axes.set_title(title, loc="left", fontsize=10, parse_math=False)


def label_of(sensitivity: Sensitivity, setting: SettingSensitivity, width: int) -> str:
    """Return the setting's name, with n where not all counted trials have it."""
    label = setting_label(setting.dimension.name, width)
    is_partial = len(setting.trials) < len(sensitivity.sample.values)
    return f"{label} (n = {len(setting.trials)})" if is_partial else label


def _draw_setting(
    axes: "Axes", place: int, setting: SettingSensitivity, sensitivity: Sensitivity
) -> None:
    importance = setting.importance
    if importance is None:
        axes.annotate(
            f"no importance: {_MISSING.get(setting.missing_reason, '')}",
            (0, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            style="italic",
            color=GREY,
            fontsize=8,
        )
        return
    color = BLUE if sensitivity.matters(importance) else _PALE_BLUE
    axes.barh(place, max(percent(importance.share), 0.0), 0.5, color=color)


def _importance_draw_key(figure: "Figure", sensitivity: Sensitivity) -> None:
    from matplotlib.patches import Patch

    entries, texts = [Patch(color=BLUE), Patch(color=_PALE_BLUE)], ["matters", "not told from 0"]
    if sensitivity.sample.is_chosen:
        entries, texts = entries[1:], ["no verdict: proposed by results"]
    draw_legend(figure, entries, texts)


def draw_legend(figure: "Figure", entries: Sequence[Any], texts: list[str]) -> None:
    """Draw the legend below a figure, in one row."""
    figure.legend(
        entries,
        texts,
        loc="outside lower center",
        ncols=len(texts),
        frameon=False,
        fontsize=8,
        handletextpad=0.5,
        columnspacing=1.6,
    )


def marginals_figure(sensitivity: Sensitivity) -> "Figure":
    """Return each setting's counted trials, with their mean by value.

    Nothing is cut off: the panels are as high as trials and intervals ask for.
    """
    from matplotlib.figure import Figure

    settings = sensitivity.settings
    abreast = min(_PANELS_ABREAST, len(settings))
    rows = math.ceil(len(settings) / abreast)
    figure = Figure(figsize=(WIDTH_INCHES, 0.8 + 1.95 * rows), layout="constrained")
    panels = figure.subplots(rows, abreast, sharey=True, squeeze=False)
    for place, panel in enumerate(panels.flat):
        if place < len(settings):
            _draw_panel(panel, sensitivity, settings[place])
        else:
            panel.axis("off")
    _limit(panels[0, 0], sensitivity)
    epoch = sensitivity.sample.epoch
    when = "" if epoch is None else f" after epoch {epoch}"
    figure.supylabel(f"{objective_label(sensitivity.results)}{when}", fontsize=9)
    order = ", the most important first" if sensitivity.has_importances else ""
    title = f"{sensitivity.results.sweep}: objective by each setting{order}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, parse_math=False)
    _marginal_draw_key(figure, sensitivity)
    return figure


def _draw_panel(axes: "Axes", sensitivity: Sensitivity, setting: SettingSensitivity) -> None:
    axis, diverged = setting.axis, sensitivity.sample.diverged
    for is_diverged in (False, True):
        numbers = [number for number in setting.trials if (number in diverged) is is_diverged]
        style: dict[str, Any] = (
            {"marker": "x", "lw": 0.9} if is_diverged else {"lw": 0, "alpha": 0.35}
        )
        axes.scatter(
            [_across(axis, number, sensitivity) for number in numbers],
            [_shown(sensitivity, number) for number in numbers],
            s=9 + 5 * is_diverged,
            color=BLUE,
            zorder=2,
            **style,
        )
    for marginal in setting.marginals:
        _draw_mean(axes, axis, marginal, _interval(sensitivity, marginal))
    best = sensitivity.best
    if best is not None and best.number in setting.trials:
        at = [_across(axis, best.number, sensitivity)], [_shown(sensitivity, best.number)]
        axes.scatter(*at, s=70, marker="*", color=ORANGE, lw=0.4, ec="white", zorder=5)
    if not setting.trials:
        axes.text(0.5, 0.5, "no trial has it", transform=axes.transAxes, ha="center", fontsize=8)
    _dress_panel(axes, axis)
    axes.set_title(label_of(sensitivity, setting, 30), fontsize=8, parse_math=False)


def _across(axis: SettingAxis, number: int, sensitivity: Sensitivity) -> float:
    """Return where a trial stands in a panel; trials of one level stand side by side."""
    unit = axis.unit(sensitivity.results.proposals[number].params.get(axis.dimension.name)) or 0.0
    if not axis.levels:
        return axis.number(unit)
    golden = 0.6180339887498949  # its multiples fill an interval evenly
    return unit + (number * golden % 1 - 0.5) * 0.5 / len(axis.levels)


def _shown(sensitivity: Sensitivity, number: int) -> float:
    return sensitivity.results.objective.metric.shown(sensitivity.sample.values[number])


def _draw_mean(axes: "Axes", axis: SettingAxis, marginal: Marginal, interval: Interval) -> None:
    if interval.mean is None:
        return
    middle = (max(0.0, marginal.group.low) + min(1.0, marginal.group.high)) / 2
    axes.errorbar(
        [middle if axis.levels else axis.number(middle)],
        [interval.mean],
        yerr=ends_around_mean(interval) if interval.n >= FEWEST_OF_AN_INTERVAL else None,
        fmt="o",
        color="black",
        markersize=4,
        markeredgecolor="white",
        markeredgewidth=0.5,
        elinewidth=1.2,
        capsize=2,
        zorder=4,
    )


def _interval(sensitivity: Sensitivity, marginal: Marginal) -> Interval:
    return measured_interval(marginal.values, sensitivity.results.objective.metric)


def _dress_panel(axes: "Axes", axis: SettingAxis) -> None:
    if axis.levels:
        labels = [drawable(group.label) for group in axis.groups]
        is_tight = sum(map(len, labels)) + len(labels) > 22
        places = [(place + 0.5) / len(labels) for place in range(len(labels))]
        axes.set_xticks(places, labels, rotation=30 if is_tight else 0, fontsize=7.5)
        axes.set_xlim(0, 1)
        for label in axes.get_xticklabels():
            label.set_parse_math(False)
            label.set_horizontalalignment("right" if is_tight else "center")
    else:
        if axis.is_log:
            axes.set_xscale("log")
        axes.tick_params(axis="x", labelsize=7.5)
        axes.set_xlim(axis.number(-0.05), axis.number(1.05))
    axes.grid(axis="y", color=GRID, lw=0.6)
    axes.set_axisbelow(True)


def _values(sensitivity: Sensitivity) -> list[float]:
    return [_shown(sensitivity, number) for number in sensitivity.sample.values]


def _limit(axes: "Axes", sensitivity: Sensitivity) -> None:
    """Set the y limits that all panels share: around all values, within possible errors."""
    values = _values(sensitivity)
    ends = [end for setting in sensitivity.settings for end in _ends(sensitivity, setting)]
    low, high = min((*values, *ends)), max((*values, *ends))
    least, most = low - 0.08 * (high - low), high + 0.08 * (high - low)
    if is_wide(values) and low > 0:
        axes.set_yscale("log")
        least, most = low / (high / low) ** 0.08, high * (high / low) ** 0.08
    if sensitivity.results.objective.metric.is_fraction:
        least, most = max(least, -_MARKER_POINTS), min(most, percent(1) + _MARKER_POINTS)
    if low < high:
        axes.set_ylim(least, most)


def _ends(sensitivity: Sensitivity, setting: SettingSensitivity) -> list[float]:
    """Return the ends of the intervals that are drawn in a panel."""
    intervals = [_interval(sensitivity, marginal) for marginal in setting.marginals]
    drawn = [interval for interval in intervals if interval.n >= FEWEST_OF_AN_INTERVAL]
    return [end for interval in drawn for end in (interval.low, interval.high) if end is not None]


def _marginal_draw_key(figure: "Figure", sensitivity: Sensitivity) -> None:
    from matplotlib.lines import Line2D

    entries = [
        Line2D([], [], color=BLUE, marker="o", ms=3.5, lw=0, alpha=0.35),
        Line2D([], [], color=BLUE, marker="x", ms=4, lw=0),
        Line2D([], [], color="black", marker="o", ms=4, lw=1.2),
        Line2D([], [], color=ORANGE, marker="*", ms=9, lw=0),
    ]
    texts = ["a trial", "diverged", "mean, 95 % t interval of 3 and more", "best trial"]
    if not sensitivity.sample.diverged:
        del entries[1], texts[1]
    draw_legend(figure, entries, texts)
