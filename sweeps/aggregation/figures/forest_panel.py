"""The right half of the ablation figure: each difference from the baseline with its intervals."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.figure_style import BLUE, GREY, GRID
from sweeps.aggregation.rendering.table import PLUS_MINUS
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.statistics.intervals import FEWEST_SPLITS, Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLACK = "#222222"
_DASHES: tuple[Any, ...] = (0, (2, 1.5))
_MARGIN = "#009E73"


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
    for place, one in enumerate(rows):
        if one is not None and one.difference.mean is not None:
            _draw_one(axes, place, one)
    axes.grid(axis="x", color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("Difference from the baseline (points)")


def legend_of_differences(
    compared: Sequence[Comparison], margin_points: float | None
) -> list[tuple[object, str]]:
    """Return what stands in the legend of this half: handles with their texts."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[tuple[object, str]] = []
    if any(one.way for one in compared):
        images = "objects" if any(_is_of_objects(one) for one in compared) else "images"
        is_over_splits = all(one.num_splits >= FEWEST_SPLITS for one in compared if one.way)
        new = "seeds, splits and test" if is_over_splits else "seeds and new test"
        entries += [
            (Line2D([], [], color=BLUE, lw=3), f"95 %, for new {new} {images}"),
            (Line2D([], [], color=BLUE, lw=0.9), "the same for all arms together"),
        ]
    if any(not one.way and one.difference.mean is not None for one in compared):
        hollow: dict[str, Any] = {"marker": "o", "ms": 5.5, "mfc": "white", "mec": GREY}
        entries.append(
            (Line2D([], [], color=GREY, lw=1.2, ls=_DASHES, **hollow), "seeds alone, no verdict")
        )
    if any(one.is_different for one in compared):
        entries.append(
            (Line2D([], [], color=BLUE, marker="D", ms=5.5, lw=0), "different, the name in bold")
        )
    if margin_points is not None and compared:
        told = f"does not matter: {PLUS_MINUS}{margin_points:g} points, as declared"
        entries.append((Patch(color=_MARGIN, alpha=0.2, lw=0), told))
    return entries


def _draw_one(axes: "Axes", place: int, one: Comparison) -> None:
    if one.way is None:
        _draw_line(axes, place, one.difference, color=GREY, lw=1.2, ls=_DASHES)
        look: dict[str, Any] = {"marker": "o", "mfc": "white", "mec": GREY, "mew": 1.2}
    else:
        _draw_line(axes, place, one.simultaneous, color=BLUE, lw=0.9)
        _draw_line(axes, place, one.difference, color=BLUE, lw=3, solid_capstyle="butt")
        marker = "D" if one.is_different else "o"
        look = {"marker": marker, "mfc": BLUE, "mec": "white", "mew": 0.6}
    assert one.difference.mean is not None
    mean = TEST_ERROR.shown(one.difference.mean)
    axes.plot([mean], [place], lw=0, ms=5.5, zorder=4, **look)


def _draw_line(axes: "Axes", place: int, interval: Interval | None, **look: Any) -> None:
    if interval is None or interval.low is None or interval.high is None:
        return
    ends = [TEST_ERROR.shown(end) for end in (interval.low, interval.high)]
    axes.plot(ends, [place, place], zorder=3, **look)


def _is_of_objects(one: Comparison) -> bool:
    return one.way is not None and one.way.num_clusters < one.num_images
