"""The figure of an ablation: each arm's difference from the baseline, and its verdict."""

import textwrap
from collections.abc import Sequence
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
from sweeps.aggregation.rendering.table import PLUS_MINUS
from sweeps.aggregation.results.arms import ArmResults, gap_text, identical_groups
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.departures import departure_sentence
from sweeps.aggregation.results.targets import missed
from sweeps.aggregation.statistics.intervals import FEWEST_SPLITS, Interval
from sweeps.aggregation.tables.columns import is_of_objects
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line, points_text, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BLACK = "#222222"
_DASHES: tuple[Any, ...] = (0, (2, 1.5))
_MARGIN = "#009E73"
MOST_ROWS = 100
"""Nobody reads more: a picture of two thousand arms would be twelve metres high."""

_LINE_CHARACTERS = 30
_ACROSS_CHARACTERS = 88  # of a title and the longest label before it
Group = Sequence[ArmResults]


def ablation_figure(
    manifest: Manifest, arms: Sequence[ArmResults], compared: Sequence[Comparison]
) -> "Figure":
    """Return the figure. Call it inside `figure_style`.

    On the left stand an arm's seeds and their mean, which test nothing: no bar, no band. On the
    right its difference from the baseline, with the interval that the table prints and the one
    that holds for all arms together. Rows are those of the table, in the manifest's order; of very
    many the first and the baseline, which the title says.

    Args:
        manifest: The sweep's name, margin and departures.
        arms: Arms with their trials.
        compared: Each arm with the baseline, as the table has them.
    """
    from matplotlib.figure import Figure  # here, as it takes half a second to import

    groups, num_more = _drawn(identical_groups(arms))
    by_arm = {arm.arm.name: comparison for comparison in compared for arm in comparison.arms}
    rows = [by_arm.get(group[0].arm.name) for group in groups]
    labels = [_label(group) for group in groups]
    title = _title(manifest, labels, num_more)
    entries = [*_legend_of_seeds(), *legend_of_differences(compared, manifest.margin_points)]
    height = 1.45 + sum(0.24 + 0.15 * label.count("\n") for label in labels)
    height += 0.17 * title.count("\n") + 0.17 * ((len(entries) + 1) // 2)
    figure = Figure(figsize=(WIDTH_INCHES, height), layout="constrained")
    has_differences = any(row and row.difference.mean is not None for row in rows)
    panels = figure.subplots(1, 1 + has_differences, sharey=True, squeeze=False)[0]
    _draw_seeds(panels[0], groups)
    _dress(panels[0], labels, title, [bool(row and row.is_different) for row in rows])
    if has_differences:
        draw_differences(panels[1], rows, manifest.margin_points)
    handles, texts = zip(*entries, strict=True)
    figure.legend(
        handles,
        texts,
        loc="outside lower center",
        ncols=2,
        frameon=False,
        fontsize=8,
        handletextpad=0.8,
        columnspacing=1.6,
    )
    return figure


def _drawn(groups: Sequence[Group]) -> tuple[list[Group], int]:
    """Return the groups that are drawn, and how many others there are."""
    if len(groups) <= MOST_ROWS:
        return [*groups], 0
    baseline = (group for group in groups if any(arm.is_baseline for arm in group))
    first = groups[: MOST_ROWS - 1]
    others = (group for group in (*baseline, *groups[MOST_ROWS - 1 :]) if group not in first)
    return [*first, next(others)], len(groups) - MOST_ROWS


def _label(group: Group) -> str:
    """Return the names of identical arms in at most two lines, with n where cells do not count."""
    first = group[0]
    name = drawable(" = ".join(one_line(arm.arm.name) for arm in group))
    lines = textwrap.wrap(name, _LINE_CHARACTERS, break_long_words=True) or [name]
    if len(lines) > 2:
        lines = [lines[0], shortened(" ".join(lines[1:]), _LINE_CHARACTERS)]
    planned, counted = len(first.trials), len(first.counted)
    remarks = [f"n = {counted}"] if 0 < counted < planned else []
    remarks += [f"{late} missed the target"] if (late := len(missed(first))) else []
    if remarks:
        lines[-1] += f" ({', '.join(remarks)})"
    return "\n".join(lines)


def _title(manifest: Manifest, labels: Sequence[str], num_more: int) -> str:
    """Return the title, below the changes that the launch made to the declared sweep."""
    longest = max(len(line) for label in labels for line in label.split("\n"))
    width = _ACROSS_CHARACTERS - longest
    changed = textwrap.wrap(drawable(departure_sentence(manifest)), width)
    more = f" (the first {len(labels)}; {num_more:,} more in the table)" if num_more else ""
    return "\n".join([*changed, f"{manifest.sweep}: test error by arm{more}"])


def _legend_of_seeds() -> list[tuple[object, str]]:
    from matplotlib.lines import Line2D

    return [
        (Line2D([], [], color=BLUE, marker="o", ms=5.5, lw=0), "mean, seeds as faint points"),
        (
            Line2D([], [], color=ORANGE, marker="s", ms=5.5, lw=1, ls=(0, (4, 3))),
            "baseline, its mean as a line",
        ),
    ]


def legend_of_differences(
    compared: Sequence[Comparison], margin_points: float | None
) -> list[tuple[object, str]]:
    """Return the legend of this half: handles with their texts."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[tuple[object, str]] = []
    if any(comparison.way for comparison in compared):
        images = (
            "objects" if any(is_of_objects(comparison) for comparison in compared) else "images"
        )
        is_over_splits = all(
            comparison.num_splits >= FEWEST_SPLITS for comparison in compared if comparison.way
        )
        new = "seeds, splits and test" if is_over_splits else "seeds and new test"
        entries += [
            (Line2D([], [], color=BLUE, lw=3), f"95 %, for new {new} {images}"),
            (Line2D([], [], color=BLUE, lw=0.9), "the same for all arms together"),
        ]
    if any(
        not comparison.way and comparison.difference.mean is not None for comparison in compared
    ):
        hollow: dict[str, Any] = {"marker": "o", "ms": 5.5, "mfc": "white", "mec": GREY}
        entries.append(
            (Line2D([], [], color=GREY, lw=1.2, ls=_DASHES, **hollow), "seeds alone, no verdict")
        )
    if any(comparison.is_different for comparison in compared):
        entries.append(
            (Line2D([], [], color=BLUE, marker="D", ms=5.5, lw=0), "different, the name in bold")
        )
    if margin_points is not None and compared:
        margin = f"does not matter: {PLUS_MINUS}{points_text(margin_points)}, as declared"
        entries.append((Patch(color=_MARGIN, alpha=0.2, lw=0), margin))
    return entries


def _draw_seeds(axes: "Axes", groups: Sequence[Group]) -> None:
    for place, group in enumerate(groups):
        first, is_baseline = group[0], any(arm.is_baseline for arm in group)
        errors = [TEST_ERROR.shown(error) for error in first.test_errors.values()]
        if not errors:
            _say_nothing(axes, place, first)
            continue
        colour = ORANGE if is_baseline else BLUE
        mean = sum(sorted(errors)) / len(errors)
        if is_baseline:
            axes.axvline(mean, color=ORANGE, lw=1, ls=(0, (4, 3)), zorder=2)
        if len(errors) > 1:  # a single one is its own mean
            below = [place + 0.2] * len(errors)
            axes.scatter(errors, below, s=16, color=colour, alpha=0.4, lw=0, zorder=3)
        marker = "s" if is_baseline else "o"
        axes.plot([mean], [place], marker, color=colour, ms=5.5, mec="white", mew=0.6, zorder=4)


def _say_nothing(axes: "Axes", place: int, arm: ArmResults) -> None:
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


def _dress(axes: "Axes", labels: Sequence[str], title: str, are_different: Sequence[bool]) -> None:
    axes.set_yticks(range(len(labels)), labels)
    for label, is_different in zip(axes.get_yticklabels(), are_different, strict=True):
        label.set_parse_math(False)  # a dollar in a name is a dollar
        label.set_fontweight("bold" if is_different else "normal")
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    left, right = axes.get_xlim()
    axes.set_xlim(max(left, -0.02 * right), right)  # no error is below 0
    axes.set_xlabel("Test error (%)")
    axes.set_title(title, loc="left", fontsize=10, parse_math=False)


def draw_differences(
    axes: "Axes", rows: Sequence[Comparison | None], margin_points: float | None
) -> None:
    """Draw a difference a row, in percentage points, the zero line and the declared margin.

    Args:
        axes: Whose rows are the arms' already.
        rows: None stands for the baseline.
        margin_points: Differences within it do not matter; None where none was declared.
    """
    if margin_points is not None:
        axes.axvspan(-margin_points, margin_points, color=_MARGIN, alpha=0.12, lw=0, zorder=0)
    axes.axvline(0, color=_BLACK, lw=0.9, zorder=1)
    for place, comparison in enumerate(rows):
        if comparison is not None and comparison.difference.mean is not None:
            _draw_difference(axes, place, comparison)
    axes.grid(axis="x", color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("Difference from the baseline (points)")


def _draw_difference(axes: "Axes", place: int, comparison: Comparison) -> None:
    if comparison.way is None:
        _draw_line(axes, place, comparison.difference, color=GREY, lw=1.2, ls=_DASHES)
        look: dict[str, Any] = {"marker": "o", "mfc": "white", "mec": GREY, "mew": 1.2}
    else:
        _draw_line(axes, place, comparison.simultaneous, color=BLUE, lw=0.9)
        _draw_line(axes, place, comparison.difference, color=BLUE, lw=3, solid_capstyle="butt")
        marker = "D" if comparison.is_different else "o"
        look = {"marker": marker, "mfc": BLUE, "mec": "white", "mew": 0.6}
    assert comparison.difference.mean is not None
    mean = TEST_ERROR.shown(comparison.difference.mean)
    axes.plot([mean], [place], lw=0, ms=5.5, zorder=4, **look)


def _draw_line(axes: "Axes", place: int, interval: Interval | None, **look: Any) -> None:
    if interval is None or interval.low is None or interval.high is None:
        return
    ends = [TEST_ERROR.shown(end) for end in (interval.low, interval.high)]
    axes.plot(ends, [place, place], zorder=3, **look)
