"""The ablation figure: each arm's mean test error with its interval, the baseline as a line."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.figure_style import (
    BLUE,
    GREY,
    GRID,
    ORANGE,
    WIDTH_INCHES,
    drawable,
)
from sweeps.aggregation.rendering.measured import measured_interval
from sweeps.aggregation.results.arms import ArmResults, arm_results
from sweeps.aggregation.results.statistics import Interval
from sweeps.aggregation.tables.departures import departure_sentence
from sweeps.aggregation.tables.targets import missed
from sweeps.aggregation.tables.uncounted_cells import gap_text
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line, shortened
from sweeps.records.trial_record import TrialRecord

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINE_CHARACTERS = 30
_ACROSS_CHARACTERS = 88  # of a title and the longest label before it


def ablation_figure(manifest: Manifest, records: Mapping[str, TrialRecord]) -> "Figure":
    """Return the figure, to be drawn in the house's style.

    A dot is an arm's mean, the bar its 95 % t interval, faint points are the seeds. The line is
    the baseline's mean, the band its interval. Arms stand in the manifest's order.
    """
    from matplotlib.figure import Figure  # here, as it takes half a second to import

    arms = arm_results(manifest, records)
    labels = [_label(arm) for arm in arms]
    title = _title(manifest, labels)
    height = 1.35 + sum(0.2 + 0.13 * label.count("\n") + 0.1 for label in labels)
    height += 0.17 * title.count("\n")
    figure = Figure(figsize=(WIDTH_INCHES, height), layout="constrained")
    axes = figure.add_subplot()
    _draw_arms(axes, arms)
    _dress(axes, labels, title)
    _draw_legend(figure, arms)
    return figure


def _draw_arms(axes: "Axes", arms: Sequence[ArmResults]) -> None:
    for place, arm in enumerate(arms):
        interval = measured_interval(arm.test_errors.values(), TEST_ERROR)
        colour = ORANGE if arm.is_baseline else BLUE
        if arm.is_baseline:
            _draw_baseline(axes, interval)
        if interval.mean is None:
            axes.text(
                0.01,
                place,
                f"no result: {gap_text(arm)}",
                transform=axes.get_yaxis_transform(),
                va="center",
                style="italic",
                color=GREY,
                fontsize=8,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
                parse_math=False,
            )
            continue
        _draw_seeds(axes, place, [*map(TEST_ERROR.shown, arm.test_errors.values())], colour)
        ends = None if interval.half_width is None else [[interval.half_width]] * 2
        axes.errorbar(
            [interval.mean],
            [place],
            xerr=ends,
            fmt="s" if arm.is_baseline else "o",
            color=colour,
            markersize=5.5,
            markeredgecolor="white",
            markeredgewidth=0.6,
            elinewidth=1.5,
            capsize=3,
            capthick=1.5,
            zorder=4,
        )


def _draw_seeds(axes: "Axes", place: int, seeds: Sequence[float], colour: str) -> None:
    if len(seeds) > 1:  # a single one is its own mean
        below = [place + 0.22] * len(seeds)
        axes.scatter(seeds, below, s=15, color=colour, alpha=0.35, lw=0, zorder=3)


def _draw_baseline(axes: "Axes", interval: Interval) -> None:
    if interval.mean is None:
        return
    axes.axvline(interval.mean, color=ORANGE, lw=1, ls=(0, (4, 3)), zorder=2)
    if interval.low is not None and interval.high is not None:
        axes.axvspan(interval.low, interval.high, color=ORANGE, alpha=0.1, lw=0, zorder=1)


def _dress(axes: "Axes", labels: Sequence[str], title: str) -> None:
    axes.set_yticks(range(len(labels)), labels)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)  # a dollar in a name is a dollar
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    left, right = axes.get_xlim()
    axes.set_xlim(max(left, -0.02 * right), right)  # no error is below 0
    axes.set_xlabel("Test error (%)")
    axes.set_title(title, loc="left", fontsize=10, parse_math=False)


def _draw_legend(figure: "Figure", arms: Sequence[ArmResults]) -> None:
    from matplotlib.lines import Line2D

    seeds = len(arms[0].trials)
    mean: dict[str, Any] = {"color": BLUE, "marker": "o", "markersize": 5.5}
    has_interval = any(len(arm.counted) > 1 for arm in arms)
    entries = [
        Line2D([], [], lw=1.5 if has_interval else 0, **mean),
        Line2D([], [], color=ORANGE, marker="s", markersize=5.5, lw=1, ls=(0, (4, 3))),
    ]
    texts = [
        "mean, 95 % t interval" if has_interval else "one seed, no interval",
        "baseline, interval as a band" if has_interval else "baseline",
    ]
    if seeds > 1:
        entries.insert(1, Line2D([], [], color=BLUE, marker="o", ms=4, lw=0, alpha=0.35))
        texts.insert(1, f"single seeds (n = {seeds} unless noted)")
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


def _title(manifest: Manifest, labels: Sequence[str]) -> str:
    """Return the title, below what the launch changed of the sweep as declared."""
    longest = max(len(line) for label in labels for line in label.split("\n"))
    width = _ACROSS_CHARACTERS - longest
    changed = textwrap.wrap(drawable(departure_sentence(manifest)), width)
    return "\n".join([*changed, f"{manifest.sweep}: test error by arm"])


def _label(arm: ArmResults) -> str:
    """Return the arm's name in at most two lines, with n where cells are not counted."""
    name = drawable(one_line(arm.arm.name))
    lines = textwrap.wrap(name, _LINE_CHARACTERS, break_long_words=True) or [name]
    if len(lines) > 2:
        lines = [lines[0], shortened(" ".join(lines[1:]), _LINE_CHARACTERS)]
    planned, counted = len(arm.trials), len(arm.counted)
    told = [f"n = {counted}"] if 0 < counted < planned else []
    told += [f"{late} missed the target"] if (late := len(missed(arm))) else []
    if told:
        lines[-1] += f" ({', '.join(told)})"
    return "\n".join(lines)
