"""A search's course and its settings side by side, as figures without any statistics."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sweeps.aggregation.rendering.figure_style import (
    BLUE,
    GREY,
    GRID,
    ORANGE,
    WIDTH_INCHES,
    drawable,
    setting_label,
)
from sweeps.aggregation.rendering.measured import heading
from sweeps.aggregation.results.search_results import ProposalResult, SearchResults
from sweeps.aggregation.sensitivity.setting_axis import SettingAxis, value_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NUM_BEST = 3
_WIDE_RATIO = 30.0
_MOST_WRITTEN_LEVELS = 6


def has_ended(results: SearchResults) -> bool:
    """Return whether any proposal has ended or was stopped at a value."""
    return any(
        result.state in {"finished", "failed", "diverged"}
        or (result.state == "stopped" and result.value is not None)
        for result in results.proposals
    )


def history_figure(results: SearchResults) -> "Figure":
    """Return the objective by proposal, with the best so far as a line.

    Stopped proposals are hollow, at the value where they were stopped. Those that failed or
    diverged are crosses at the top. Those beyond a limit on what is measured are grey.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_INCHES, 3.2), layout="constrained")
    axes = figure.add_subplot()
    proposals = results.proposals
    finished = [result for result in proposals if result.state == "finished"]
    stopped = [
        result for result in proposals if result.state == "stopped" and result.value is not None
    ]
    broken = [result for result in proposals if result.state in {"failed", "diverged"}]
    heights = [shown_value(results, result.number) for result in (*finished, *stopped)]
    dots: dict[str, Any] = {"s": 18, "zorder": 3}
    _draw_finished(axes, finished, results, **dots)
    _scatter(axes, stopped, results, fc="white", ec=BLUE, lw=0.9, label="stopped early", **dots)
    if broken:
        axes.scatter(
            [result.number for result in broken],
            [0.97] * len(broken),
            transform=axes.get_xaxis_transform(),
            marker="x",
            s=22,
            color=ORANGE,
            lw=1.2,
            label="failed or diverged",
        )
    _draw_best_so_far(axes, [result for result in finished if not result.broken], results)
    if is_wide(heights):
        axes.set_yscale("log")
    axes.set_xlim(-0.5 - 0.02 * len(proposals), 1.02 * max(1, len(proposals)))
    low, high = axes.get_ylim()
    top = high * (high / low) ** 0.12 if is_wide(heights) else high + 0.12 * (high - low)
    axes.set_ylim(low, top if broken else high)
    axes.grid(axis="y", color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    axes.set(xlabel="Proposal", ylabel=objective_label(results))
    _title(axes, f"{results.sweep}: the search's course")
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return figure


def parallel_figure(results: SearchResults) -> "Figure":
    """Return each candidate for the best as a line through its settings to its objective.

    The better the objective, the darker the line; the best few are coloured. At a setting that a
    trial does not have, its line goes on thinly, without a mark.
    """
    from matplotlib.figure import Figure

    axes_of = [SettingAxis(dimension) for dimension in results.search.dimensions]
    width = max(WIDTH_INCHES, 0.9 * (len(axes_of) + 1))
    figure = Figure(figsize=(width, 4.4), layout="constrained")
    axes = figure.add_subplot()
    ranked = sorted(
        results.candidates, key=lambda result: (results.cost(result.number), result.number)
    )
    heights = _objective_units([shown_value(results, result.number) for result in ranked])
    for rank, result in reversed(list(enumerate(ranked))):
        units = [axis.unit(result.params.get(axis.dimension.name)) for axis in axes_of]
        _draw_line(axes, [*units, heights[rank]], rank, len(ranked))
    for place, axis in enumerate(axes_of):
        _draw_scale(axes, place, _scale(axis))
    values = [shown_value(results, result.number) for result in ranked]
    ends = [(0.0, f"{values[0]:.3g}"), (1.0, f"{values[-1]:.3g}")]
    _draw_scale(axes, len(axes_of), ends)
    _dress_parallel(axes, axes_of, results)
    any_absent = any(len(result.params) < len(axes_of) for result in ranked)
    _draw_parallel_legend(figure, len(ranked), any_absent)
    return figure


def is_wide(values: Sequence[float]) -> bool:
    """Whether values are so far apart that only a log scale shows the small ones."""
    return bool(values) and min(values) > 0 and max(values) > _WIDE_RATIO * min(values)


def shown_value(results: SearchResults, number: int) -> float:
    """Return a proposal's objective as readers are shown it."""
    return results.objective.metric.shown(results.value(number))


def objective_label(results: SearchResults) -> str:
    """Return the label of the objective's axis."""
    text = heading(results.objective.metric)
    return text[:1].upper() + text[1:]


def _title(axes: "Axes", text: str) -> None:
    axes.set_title(text, loc="left", fontsize=10, parse_math=False)


def _scatter(
    axes: "Axes", proposals: Sequence[ProposalResult], results: SearchResults, **style: Any
) -> None:
    if proposals:
        numbers = [proposal.number for proposal in proposals]
        axes.scatter(numbers, [shown_value(results, number) for number in numbers], **style)


def _draw_finished(
    axes: "Axes", finished: Sequence[ProposalResult], results: SearchResults, **style: Any
) -> None:
    """Draw the proposals of full length, those beyond a limit in another colour."""
    candidates = [result for result in finished if not result.broken]
    beyond = [result for result in finished if result.broken]
    _scatter(axes, candidates, results, color=BLUE, lw=0, label="full length", **style)
    _scatter(axes, beyond, results, color=GREY, lw=0, label="beyond a limit", **style)


def _draw_best_so_far(
    axes: "Axes", finished: Sequence[ProposalResult], results: SearchResults
) -> None:
    numbers: list[int] = []
    best: list[float] = []
    for result in finished:
        value = shown_value(results, result.number)
        numbers.append(result.number)
        best.append(min([value, *best[-1:]], key=results.objective.cost))
    if numbers:
        numbers.append(len(results.proposals))
        best.append(best[-1])
        axes.step(numbers, best, where="post", color=GREY, lw=1.2, label="best so far", zorder=2)


def _objective_units(values: Sequence[float]) -> list[float]:
    """Return where sorted values lie between the first and the last, by logarithms if wide."""
    if not values or values[0] == values[-1]:
        return [0.5] * len(values)
    scaled = [math.log(value) if is_wide(values) else value for value in values]
    return [(height - scaled[0]) / (scaled[-1] - scaled[0]) for height in scaled]


def _draw_line(axes: "Axes", units: Sequence[float | None], rank: int, num_lines: int) -> None:
    import matplotlib

    is_best = rank < min(_NUM_BEST, num_lines // 4)
    shade = matplotlib.colormaps["Blues"](0.9 - 0.7 * rank / max(1, num_lines - 1))
    points = [(place, unit) for place, unit in enumerate(units) if unit is not None]
    style: dict[str, Any] = {
        "color": ORANGE if is_best else shade,
        "alpha": 1.0 if is_best else 0.75,
        "zorder": 4 if is_best else 3 - rank / num_lines,
    }
    width = 1.8 if is_best else 0.8
    for (start, low), (end, high) in pairwise(points):
        is_past = end > start + 1  # a setting between them that the trial has not
        line = {"lw": width / 2, "ls": (0, (4, 3))} if is_past else {"lw": width}
        axes.plot([start, end], [low, high], **line, **style)
    dots = list(zip(*points, strict=True))
    axes.plot(*dots, ls="", marker="o", markersize=3.4 if is_best else 1.8, **style)


def _scale(axis: SettingAxis) -> list[tuple[float, str]]:
    """Return the ticks of a setting's axis: position and text."""
    if not axis.levels:
        return [(unit, value_text(axis.number(unit))) for unit in (0.0, 1.0)]
    places = [(place + 0.5) / len(axis.levels) for place in range(len(axis.levels))]
    written = [(p, value_text(level)) for p, level in zip(places, axis.levels, strict=True)]
    is_long = len(written) > _MOST_WRITTEN_LEVELS and not axis.is_choice
    return [written[0], written[-1]] if is_long else written


def _draw_scale(axes: "Axes", place: int, written: Sequence[tuple[float, str]]) -> None:
    axes.axvline(place, color=GREY, lw=0.8, zorder=3.5)
    for height, text in written:
        axes.annotate(
            drawable(text),
            (place, height),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=6.5,
            color="black",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.75},
            zorder=6,
            parse_math=False,
        )


def _dress_parallel(axes: "Axes", axes_of: Sequence[SettingAxis], results: SearchResults) -> None:
    labels = [setting_label(axis.dimension.name, 20) for axis in axes_of]
    axes.set_xticks(range(len(labels) + 1), [*labels, objective_label(results)])
    for label in axes.get_xticklabels():
        label.set_parse_math(False)
        label.set_rotation(40)
        label.set_horizontalalignment("right")
        label.set_rotation_mode("anchor")
        label.set_fontsize(7)
    axes.set_xlim(-0.15, len(labels) + 0.45)
    axes.set_ylim(-0.04, 1.04)
    axes.set_yticks([])
    axes.spines["bottom"].set_visible(False)
    _title(axes, f"{results.sweep}: the settings of each trial, and what they gave")


def _draw_parallel_legend(figure: "Figure", num_lines: int, any_absent: bool) -> None:
    import matplotlib
    from matplotlib.lines import Line2D

    shades = matplotlib.colormaps["Blues"]
    best = min(_NUM_BEST, num_lines // 4)
    entries = [Line2D([], [], color=shades(0.9), lw=1.2), Line2D([], [], color=shades(0.2), lw=1.2)]
    texts = ["a good trial", "a bad one"]
    if best:
        entries.insert(0, Line2D([], [], color=ORANGE, lw=1.8, marker="o", ms=3.4))
        texts.insert(0, f"the best {best}" if best > 1 else "the best")
    if any_absent:
        entries.append(Line2D([], [], color=GREY, lw=0.8, ls=(0, (4, 3))))
        texts.append("past a setting that it has not")
    figure.legend(entries, texts, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
