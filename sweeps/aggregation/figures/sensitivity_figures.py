"""The figures of a search: importance, means by value, the search's course, and its settings."""

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sweeps.aggregation.figures.search_figures import (
    history_figure,
    is_wide,
    objective_label,
    parallel_figure,
    shown_value,
)
from sweeps.aggregation.rendering.contents import Figure
from sweeps.aggregation.rendering.figure_style import (
    BLUE,
    GREY,
    GRID,
    ORANGE,
    WIDTH_INCHES,
    drawable,
    setting_label,
)
from sweeps.aggregation.rendering.measured import measured_interval
from sweeps.aggregation.results.search_results import SearchResults
from sweeps.aggregation.sensitivity.sensitivity import Marginal, Sensitivity, SettingSensitivity
from sweeps.aggregation.sensitivity.setting_axis import SettingAxis
from sweeps.aggregation.statistics.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_PALE_BLUE = "#A9CCE3"
_PANELS_ABREAST = 3
_LEVEL_CHARACTERS = 14


def sensitivity_figures(sensitivity: Sensitivity, name: str) -> tuple[Figure, ...]:
    """Return each figure of a search.

    Their names: `{name}-importance`, `{name}-marginals`, `{name}-history`, `{name}-parallel`.

    Args:
        sensitivity: As `sensitivity` returns it.
        name: As the manifest declares it.
    """
    return (
        Figure(f"{name}-importance", partial(_importance_figure, sensitivity)),
        Figure(f"{name}-marginals", partial(_marginals_figure, sensitivity)),
        Figure(f"{name}-history", partial(history_figure, sensitivity.results)),
        Figure(f"{name}-parallel", partial(parallel_figure, sensitivity.results)),
    )


def _importance_figure(sensitivity: Sensitivity) -> "Drawing":
    from matplotlib.figure import Figure as Drawing

    settings = sensitivity.settings
    labels = [_label(sensitivity, setting, 34) for setting in settings]
    height = 1.5 + sum(0.28 + 0.12 * label.count("\n") for label in labels)
    figure = Drawing(figsize=(WIDTH_INCHES, height), layout="constrained")
    axes = figure.add_subplot()
    for place, setting in enumerate(settings):
        _draw_importance(axes, place, setting)
    axes.axvline(0, color=GREY, lw=0.8, zorder=2)
    axes.set_yticks(range(len(labels)), labels)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("Share beyond that of shuffled values (%)")
    title = f"{sensitivity.results.sweep}: how much each setting matters"
    axes.set_title(title, loc="left", fontsize=10, parse_math=False)
    if any(setting.fanova for setting in settings):
        _draw_importance_legend(figure)
    else:
        axes.set_xlim(-5, 100)
    return figure


def _draw_importance(axes: "Axes", place: int, setting: SettingSensitivity) -> None:
    if setting.fanova is None or setting.ped_anova is None:
        words = {"few": "too few trials", "equal results": "all results equal"}
        axes.annotate(
            f"no importance: {words.get(setting.silence, 'only one value')}",
            (0, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            style="italic",
            color=GREY,
            fontsize=8,
        )
        return
    is_clear = (setting.fanova.low or 0.0) > 0
    axes.barh(
        place - 0.08, setting.fanova.mean or 0.0, 0.44, color=BLUE if is_clear else _PALE_BLUE
    )
    _draw_band(axes, place - 0.08, setting.fanova, color="black", fmt="none", elinewidth=1.2)
    marker: dict[str, Any] = {"fmt": "D", "markersize": 3, "markerfacecolor": "white"}
    _draw_band(axes, place + 0.3, setting.ped_anova, color=GREY, elinewidth=0.8, **marker)


def _draw_band(axes: "Axes", place: float, band: Interval, **style: Any) -> None:
    mean, low, high = band.mean or 0.0, band.low or 0.0, band.high or 0.0
    ends = [[max(0.0, mean - low)], [max(0.0, high - mean)]]
    axes.errorbar([mean], [place], xerr=ends, capsize=2, zorder=4, **style)


def _draw_importance_legend(figure: "Drawing") -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries = [
        Patch(color=BLUE),
        Patch(color=_PALE_BLUE),
        Line2D([], [], color="black", lw=1.2),
        Line2D([], [], color=GREY, lw=0.8, marker="D", ms=3, mfc="white"),
    ]
    texts = ["importance (fANOVA)", "its band touches 0", "band", "by PED-ANOVA"]
    _draw_legend(figure, entries, texts)


def _draw_legend(figure: "Drawing", entries: Sequence[Any], texts: list[str]) -> None:
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


def _marginals_figure(sensitivity: Sensitivity) -> "Drawing":
    from matplotlib.figure import Figure as Drawing
    from matplotlib.lines import Line2D

    settings = sensitivity.settings
    abreast = min(_PANELS_ABREAST, len(settings))
    rows = math.ceil(len(settings) / abreast)
    figure = Drawing(figsize=(WIDTH_INCHES, 0.8 + 1.95 * rows), layout="constrained")
    panels = figure.subplots(rows, abreast, sharey=True, squeeze=False)
    values = [
        shown_value(sensitivity.results, result.number) for result in sensitivity.results.counted
    ]
    for place, panel in enumerate(panels.flat):
        if place >= len(settings):
            panel.axis("off")
            continue
        _draw_panel(panel, sensitivity, settings[place])
    if values:
        _limit(panels[0, 0], values)
    figure.supylabel(objective_label(sensitivity.results), fontsize=9)
    order = ", the most important first" if any(setting.fanova for setting in settings) else ""
    title = f"{sensitivity.results.sweep}: objective by each setting{order}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, parse_math=False)
    entries = [
        Line2D([], [], color=BLUE, marker="o", ms=3.5, lw=0, alpha=0.35),
        Line2D([], [], color="black", marker="o", ms=4, lw=1.2),
        Line2D([], [], color=ORANGE, marker="*", ms=9, lw=0),
    ]
    _draw_legend(figure, entries, ["a trial", "mean, 95 % t interval", "best trial"])
    return figure


def _limit(axes: "Axes", values: Sequence[float]) -> None:
    """Let the trials fill the panels, which share their height, also where intervals are wide."""
    low, high = min(values), max(values)
    if is_wide(values):
        axes.set_yscale("log")
        axes.set_ylim(low / (high / low) ** 0.08, high * (high / low) ** 0.08)
    elif low < high:
        axes.set_ylim(low - 0.08 * (high - low), high + 0.08 * (high - low))


def _label(sensitivity: Sensitivity, setting: SettingSensitivity, width: int) -> str:
    """Return the setting's name, with n where not all counted trials have it."""
    label = setting_label(setting.dimension.name, width)
    is_partial = len(setting.trials) < len(sensitivity.results.counted)
    return f"{label} (n = {len(setting.trials)})" if is_partial else label


def _draw_panel(axes: "Axes", sensitivity: Sensitivity, setting: SettingSensitivity) -> None:
    axis, results = setting.axis, sensitivity.results
    drawn = [(number, _across(axis, number, sensitivity)) for number in setting.trials]
    heights = [shown_value(results, number) for number, _ in drawn]
    axes.scatter([x for _, x in drawn], heights, s=9, color=BLUE, alpha=0.35, lw=0, zorder=2)
    for marginal in setting.marginals:
        _draw_mean(axes, axis, marginal, results)
    best = results.best
    if best is not None and best.number in setting.trials:
        at = [_across(axis, best.number, sensitivity)], [shown_value(results, best.number)]
        axes.scatter(*at, s=70, marker="*", color=ORANGE, lw=0.4, ec="white", zorder=5)
    _dress_panel(axes, axis)
    axes.set_title(_label(sensitivity, setting, 30), fontsize=8, parse_math=False)


def _across(axis: SettingAxis, number: int, sensitivity: Sensitivity) -> float:
    """Return where a trial stands in a panel; trials of one level stand side by side."""
    unit = axis.unit(sensitivity.results.proposals[number].params.get(axis.dimension.name)) or 0.0
    if not axis.levels:
        return axis.number(unit)
    golden = 0.6180339887498949  # its multiples fill an interval evenly
    return unit + (number * golden % 1 - 0.5) * 0.5 / len(axis.levels)


def _draw_mean(axes: "Axes", axis: SettingAxis, marginal: Marginal, results: SearchResults) -> None:
    interval = measured_interval(marginal.values, results.objective.metric)
    if interval.mean is None:
        return
    middle = (max(0.0, marginal.group.low) + min(1.0, marginal.group.high)) / 2
    half = interval.half_width
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
        labels = [drawable(group.label)[:_LEVEL_CHARACTERS] for group in axis.groups]
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
