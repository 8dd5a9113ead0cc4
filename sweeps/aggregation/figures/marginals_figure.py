"""The figure of means by value: a panel a setting, with its trials, and their mean by value."""

import math
from typing import TYPE_CHECKING, Any

from sweeps.aggregation.figures.search_figures import is_wide, objective_label
from sweeps.aggregation.figures.setting_labels import draw_legend, label_of
from sweeps.aggregation.rendering.figure_style import (
    BLUE,
    GRID,
    ORANGE,
    WIDTH_INCHES,
    drawable,
)
from sweeps.aggregation.rendering.measured import measured_interval
from sweeps.aggregation.sensitivity.described import Marginal, SettingSensitivity
from sweeps.aggregation.sensitivity.sensitivity import Sensitivity
from sweeps.aggregation.sensitivity.setting_axis import SettingAxis
from sweeps.aggregation.statistics.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS_ABREAST = 3
_FEWEST_OF_AN_INTERVAL = 3  # that of two is thirteen times as wide as their spread


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
    if values := _values(sensitivity):
        _limit(panels[0, 0], values, [end for s in settings for end in _ends(sensitivity, s)])
    epoch = sensitivity.sample.epoch
    when = "" if epoch is None else f" after epoch {epoch}"
    figure.supylabel(f"{objective_label(sensitivity.results)}{when}", fontsize=9)
    order = ", the most important first" if any(setting.fanova for setting in settings) else ""
    title = f"{sensitivity.results.sweep}: objective by each setting{order}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, parse_math=False)
    _draw_key(figure, sensitivity)
    return figure


def _draw_key(figure: "Figure", sensitivity: Sensitivity) -> None:
    from matplotlib.lines import Line2D

    if not sensitivity.sample.values:
        figure.text(0.5, 0.0, "No trial counts yet.", ha="center", va="bottom", style="italic")
        return
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


def _values(sensitivity: Sensitivity) -> list[float]:
    return [_shown(sensitivity, number) for number in sensitivity.sample.values]


def _shown(sensitivity: Sensitivity, number: int) -> float:
    return sensitivity.results.objective.metric.shown(sensitivity.sample.values[number])


def _interval(sensitivity: Sensitivity, marginal: Marginal) -> Interval:
    return measured_interval(marginal.values, sensitivity.results.objective.metric)


def _ends(sensitivity: Sensitivity, setting: SettingSensitivity) -> list[float]:
    """Return the ends of the intervals that are drawn in a panel."""
    intervals = [_interval(sensitivity, marginal) for marginal in setting.marginals]
    drawn = [one for one in intervals if one.n >= _FEWEST_OF_AN_INTERVAL]
    return [end for one in drawn for end in (one.low, one.high) if end is not None]


def _limit(axes: "Axes", values: list[float], ends: list[float]) -> None:
    """Let the panels, which share their height, hold all of it."""
    low, high = min((*values, *ends)), max((*values, *ends))
    if is_wide(values) and low > 0:
        axes.set_yscale("log")
        axes.set_ylim(low / (high / low) ** 0.08, high * (high / low) ** 0.08)
    elif low < high:
        axes.set_ylim(low - 0.08 * (high - low), high + 0.08 * (high - low))


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
    best = sensitivity.results.best
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


def _draw_mean(axes: "Axes", axis: SettingAxis, marginal: Marginal, interval: Interval) -> None:
    if interval.mean is None:
        return
    middle = (max(0.0, marginal.group.low) + min(1.0, marginal.group.high)) / 2
    half = interval.half_width if interval.n >= _FEWEST_OF_AN_INTERVAL else None
    axes.errorbar(
        [middle if axis.levels else axis.number(middle)],
        [interval.mean],
        yerr=None if half is None else [[half], [half]],
        fmt="o",
        color="black",
        markersize=4,
        markeredgecolor="white",
        markeredgewidth=0.5,
        elinewidth=1.2,
        capsize=2,
        zorder=4,
    )


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
