"""The figure of a front: every proposal by its parameters and its objective."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sweeps.aggregation.rendering.figure_style import (
    BLUE,
    GREY,
    GRID,
    ORANGE,
    WIDTH_INCHES,
    drawable,
)
from sweeps.aggregation.rendering.measured import ends_around_mean, shown_interval
from sweeps.aggregation.results.front_results import FrontArm, FrontResults
from sweeps.aggregation.tables.search_figure import objective_label
from sweeps.records.plain_text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_MOST_NAMED = 12
_WIDE_RATIO = 8


def front_figure(results: FrontResults) -> "Figure":
    """Return the figure. Call it inside `figure_style`.

    Each kind of point has a shape of its own: filled dots with a stepped line are the front, rings
    what lies behind it, small dots in rings what does so within noise, crosses what is beyond a
    limit on what is measured, a square the base, and triangles what fresh seeds gave for those that
    were trained anew. Bars are the table's 95 %
    intervals for new seeds and new validation images, where these are known.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_INCHES, 4.2), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xscale("log")
    others = [arm for arm in results.arms if arm.standing != "front"]
    noise = [arm for arm in others if arm.standing == "within noise"]
    beyond = [arm for arm in others if arm.standing == "beyond a limit"]
    ring: dict[str, Any] = {"marker": "o", "mfc": "white", "mec": GREY, "mew": 0.9, "ms": 5}
    behind = [arm for arm in others if arm not in noise and arm not in beyond]
    _draw(axes, results, behind, "behind the front", **ring)
    cross: dict[str, Any] = {"marker": "x", "mec": GREY, "mew": 1.2, "ms": 6}
    _draw(axes, results, beyond, "beyond a limit", **cross)
    dotted: dict[str, Any] = {"marker": r"$\odot$", "mfc": GREY, "mec": GREY, "mew": 0.4, "ms": 6.5}
    _draw(axes, results, noise, "behind it within noise", **dotted)
    _draw_front(axes, results)
    fresh = [arm for arm in results.arms if arm.confirmed]
    triangle: dict[str, Any] = {"marker": "^", "mfc": "none", "mec": BLUE, "mew": 1.2, "ms": 7}
    _draw(axes, results, fresh, "the same on fresh seeds", is_fresh=True, **triangle)
    square: dict[str, Any] = {"marker": "s", "mfc": ORANGE, "mec": ORANGE, "ms": 7}
    _draw(axes, results, [results.base] if results.base else [], "base", **square)
    _dress(axes, results)
    if results.arms:
        figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    else:
        text = "No proposal has run to full length."
        axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", style="italic")
    return figure


def _draw(
    axes: "Axes",
    results: FrontResults,
    arms: Sequence[FrontArm],
    label: str,
    *,
    is_fresh: bool = False,
    **style: Any,
) -> None:
    """Draw arms as points with their intervals."""
    metric = results.results.objective.metric
    shown = [(arm, arm.confirmed if is_fresh else arm.arm) for arm in arms]
    shown_means = [
        (front_arm, shown_interval(results.mean(arm).interval, metric))
        for front_arm, arm in shown
        if arm and results.values(arm)
    ]
    for place, (arm, interval) in enumerate(shown_means):
        axes.errorbar(
            [arm.arm.arm.num_parameters],
            [interval.mean or 0.0],
            yerr=ends_around_mean(interval),
            ls="",
            ecolor=style["mec"],
            elinewidth=0.8,
            capsize=2,
            label=label if place == 0 else None,
            zorder=4,
            **style,
        )


def _draw_front(axes: "Axes", results: FrontResults) -> None:
    """Draw the front with its stepped line and its names: behind the line all is dominated."""
    metric, arms = results.results.objective.metric, results.front
    if not arms:
        return
    heights = [metric.shown(results.results.objective.cost(arm.point[0])) for arm in arms]
    places = [arm.arm.arm.num_parameters for arm in arms]
    axes.step([*places], heights, where="post", color=BLUE, lw=1.0, zorder=2)
    dot: dict[str, Any] = {"marker": "o", "mfc": BLUE, "mec": BLUE, "ms": 6}
    _draw(axes, results, arms, "front", **dot)
    for arm, place, height in zip(arms[:_MOST_NAMED], places, heights, strict=False):
        axes.annotate(
            drawable(one_line(arm.name).removeprefix("proposal ")),
            (place, height),
            xytext=(-3, -5),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=7.5,
            color=BLUE,
            zorder=6,
            parse_math=False,
        )


def _dress(axes: "Axes", results: FrontResults) -> None:
    metric = results.results.objective.metric
    arms = [*results.arms, *([results.base] if results.base else [])]
    heights = [metric.shown(results.results.objective.cost(arm.point[0])) for arm in arms]
    _in_logarithms(axes.xaxis)
    if heights and min(heights) > 0 and max(heights) > _WIDE_RATIO * min(heights):
        axes.set_yscale("log")
        _in_logarithms(axes.yaxis)
    axes.grid(axis="y", color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    axes.set(xlabel="Parameters (log scale)", ylabel=f"{objective_label(results.results)}, mean")
    title = f"{results.results.sweep}: what errs least for its size; numbers are of proposals"
    axes.set_title(title, loc="left", fontsize=10, parse_math=False)


def _in_logarithms(axis: "Axis") -> None:
    """Write round numbers along a logarithmic axis, not powers of ten."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
