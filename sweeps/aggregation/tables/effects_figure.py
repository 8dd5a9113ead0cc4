"""The figures of effects: main effects, interactions, and the half-normal plot."""

import math
import textwrap
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.contents import Figure
from sweeps.aggregation.rendering.figure_style import (
    BLUE,
    COLOURS,
    DASHES,
    GREY,
    GRID,
    ORANGE,
    WIDTH_INCHES,
    drawable,
    setting_label,
)
from sweeps.aggregation.rendering.measured import shown_interval
from sweeps.aggregation.rendering.table import PLUS_MINUS, number_text
from sweeps.aggregation.results.departures import departure_sentence
from sweeps.aggregation.results.factor_effects import Effect, Effects
from sweeps.aggregation.results.factors import Factor, level_texts
from sweeps.aggregation.results.level_means import LevelMean, cell_means, level_means
from sweeps.records.manifest import Manifest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_MARKERS = "sovD^P*X"
_ACROSS_CHARACTERS = 33  # of all levels of a panel
_MOST_UPRIGHT = 5  # levels, beyond which they stand aslant
_LABEL_LINES = 4
_ABREAST = 3
_MOST_PANELS = 12
_LINE_SHARE = 0.09  # of a panel's height, that a line of its legend takes
_LARGEST_LEGEND = 0.6
_LINE_CHARACTERS = 105


def effect_figures(manifest: Manifest, effects: Effects, name: str) -> tuple[Figure, ...]:
    """Return the figure of levels, and of two factors or more that of pairs.

    Their names: `{name}-levels`, `{name}-pairs`.

    Args:
        manifest: Manifest of a design of factors.
        effects: Its effects.
        name: The name that the manifest declares.
    """
    if not effects.crossed.arms:
        return ()
    levels = Figure(f"{name}-levels", partial(levels_figure, manifest, effects))
    if not _pairs(effects):
        return (levels,)
    return levels, Figure(f"{name}-pairs", partial(pairs_figure, manifest, effects))


def levels_figure(manifest: Manifest, effects: Effects) -> "Drawing":
    """Return mean test error by level, a panel a factor, to be drawn in the house's style.

    The bar of a level is the interval of its difference from the first level, around its own mean:
    it leaves out the dashed line, the first level's mean, where the difference leaves out 0.
    """
    shown = range(min(len(effects.factors), _MOST_PANELS))
    figure, panels = _grid(manifest, len(shown), "mean test error by level")
    means = level_means(effects)
    for place in shown:
        of_factor = [level for level in means if level.factor == place]
        mains = (effect for effect in effects.effects if effect.term == (place,))
        draw_levels(panels[place], effects.factors[place], of_factor, next(mains, None))
    _finish(figure, panels, legend_of_levels(effects), _more(len(effects.factors), "setting"))
    return figure


def _grid(manifest: Manifest, num: int, subject: str) -> "tuple[Drawing, Sequence[Axes]]":
    from matplotlib.figure import Figure as Drawing  # here, as it takes half a second to import

    rows = math.ceil(num / _ABREAST)
    sentence = textwrap.wrap(drawable(departure_sentence(manifest)), _LINE_CHARACTERS)
    height = 0.9 + 2.3 * rows + 0.17 * len(sentence)
    figure = Drawing(figsize=(WIDTH_INCHES, height), layout="constrained")
    panels = figure.subplots(rows, min(num, _ABREAST), sharey=True, squeeze=False).ravel()
    for axes in panels[num:]:
        axes.axis("off")
    title = "\n".join([*sentence, f"{manifest.sweep}: {subject}"])
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, parse_math=False)
    figure.supylabel("Test error (%)", fontsize=9)
    return figure, [*panels[:num]]


def draw_levels(
    axes: "Axes", factor: Factor, means: Sequence[LevelMean], effect: Effect | None
) -> None:
    """Draw the mean of each level, with the interval of its difference from the first."""
    first = means[0].mean
    if first is not None:
        height = TEST_ERROR.shown(first)
        axes.axhline(height, color=ORANGE, lw=1, ls=(0, (4, 3)), zorder=2)
    for level in means:
        if level.mean is None:
            _say(axes, level.level, "no result")
            continue
        height = TEST_ERROR.shown(level.mean)
        look: dict[str, Any] = {"color": BLUE if level.level else ORANGE, "ms": 5.5, "zorder": 4}
        axes.plot(
            [level.level], [height], "o" if level.level else "s", mec="white", mew=0.6, **look
        )
        if level.difference is not None and (half := level.difference.half_width) is not None:
            ends = TEST_ERROR.shown(half)
            _, low, high = _ends(height, ends)
            style: Any = "-" if effect and effect.test and effect.test.way else (0, (2, 1.5))
            axes.plot([level.level] * 2, [low, high], color=BLUE, lw=2, ls=style, zorder=3)
    _dress(axes, factor, setting_label(factor.name, 30), effect)


def _say(axes: "Axes", place: int, text: str) -> None:
    axes.text(
        place,
        0.5,
        text,
        transform=axes.get_xaxis_transform(),
        ha="center",
        va="center",
        style="italic",
        color=GREY,
        fontsize=8,
        parse_math=False,
    )


def _ends(middle: float, half: float) -> tuple[float, float, float]:
    return middle, middle - half, middle + half


def _dress(axes: "Axes", factor: Factor, title: str, effect: Effect | None) -> None:
    is_tight = len(factor.levels) > _MOST_UPRIGHT
    width = 16 if is_tight else _ACROSS_CHARACTERS // len(factor.levels)
    labels = [setting_label(level, width, _LABEL_LINES) for level in level_texts(factor.levels)]
    axes.set_xticks(range(len(labels)), labels, rotation=30 if is_tight else 0, fontsize=8)
    for label in axes.get_xticklabels():
        label.set_parse_math(False)
        label.set_horizontalalignment("right" if is_tight else "center")
    axes.set_xlim(-0.5, len(labels) - 0.5)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y", color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    weight = "bold" if effect and effect.is_significant else "normal"
    verdict = _verdict_text(effect)
    text = f"{title}\n{verdict}" if verdict else title
    axes.set_title(text, fontsize=8, parse_math=False, fontweight=weight)


def _verdict_text(effect: Effect | None) -> str:
    """Return the verdict on an effect in a few words."""
    if effect is None or effect.test is None:
        return "cannot be estimated"
    interval = effect.test.effect
    if interval is None or interval.mean is None:
        return f"F test: {effect.verdict}"
    shown = shown_interval(interval, TEST_ERROR)
    half = shown.half_width
    spread = "" if half is None else f" {PLUS_MINUS} {half:.2f}"
    return f"{number_text(shown.mean or 0.0, sign='+')}{spread} points, {effect.verdict}"


def _finish(
    figure: "Drawing",
    panels: "Sequence[Axes]",
    entries: Sequence[tuple[Any, str]],
    more: str,
) -> None:
    """Draw the legend and the sentence on what is left out."""
    if not entries and not more:
        return
    legend = figure.legend(
        [handle for handle, _ in entries],
        [text for _, text in entries],
        loc="outside lower left",
        ncols=1,
        frameon=False,
        fontsize=8,
        title=more or None,
        title_fontsize=8,
        alignment="left",
    )
    legend.get_title().set_parse_math(False)


def legend_of_levels(effects: Effects) -> list[tuple[object, str]]:
    """Return the legend of levels: handles with their texts."""
    from matplotlib.lines import Line2D

    first = Line2D([], [], color=ORANGE, marker="s", ms=5.5, lw=1, ls=(0, (4, 3)))
    entries: list[tuple[object, str]] = [(first, "first level, its mean as a line")]
    if any(effect.test and effect.test.way for effect in effects.estimated):
        images = "objects" if effects.crossed.objects is not None else "images"
        bar = Line2D([], [], color=BLUE, marker="o", ms=5.5, lw=2)
        text = f"difference from the first, 95 % for new seeds and new test {images}"
        entries.append((bar, text))
    else:
        bar = Line2D([], [], color=BLUE, marker="o", ms=5.5, lw=2, ls=(0, (2, 1.5)))
        entries.append((bar, "difference from the first, 95 % for new seeds alone, no verdict"))
    return entries


def _more(num: int, noun: str) -> str:
    more = num - _MOST_PANELS
    return f"Not drawn: {more} more {noun}{'s' * (more > 1)}." if more > 0 else ""


def _pairs(effects: Effects) -> list[Effect]:
    """Return the interactions that can be estimated, by p. Those without p are last."""
    pairs = [effect for effect in effects.estimated if effect.is_interaction]

    def doubt(effect: Effect) -> float:
        p_value = effect.test.p_value if effect.test else None
        return math.inf if p_value is None else p_value

    return sorted(pairs, key=doubt)


def pairs_figure(manifest: Manifest, effects: Effects) -> "Drawing":
    """Return mean test error by two factors at a time, the surest interactions first.

    Lines that are not parallel are an interaction of these trials; the words above each panel say
    what may be concluded from it.
    """
    pairs = _pairs(effects)
    figure, panels = _grid(
        manifest, min(len(pairs), _MOST_PANELS), "mean test error by two settings"
    )
    lines = [draw_lines(axes, effects, pair) for axes, pair in zip(panels, pairs, strict=False)]
    legend = min(_LINE_SHARE * max(lines), _LARGEST_LEGEND)
    low, high = panels[0].get_ylim()
    panels[0].set_ylim(low, low + (high - low) / (1 - legend))
    _finish(figure, panels, [], _more(len(pairs), "pair"))
    return figure


def draw_lines(axes: "Axes", effects: Effects, effect: Effect) -> int:
    """Draw the means of two factors: across the first one's levels, a line a level of the other.

    Returns:
        How many lines of text the legend has, at the top of the panel.
    """
    first, second = effect.term
    cells = cell_means(effects, first, second)
    labels = level_texts(effects.factors[second].levels)
    for level in range(cells.shape[1]):
        known = np.flatnonzero(np.isfinite(cells[:, level]))  # a line goes on past what is absent
        heights = [TEST_ERROR.shown(value) for value in cells[known, level]]
        axes.plot(
            known,
            heights,
            color=ORANGE if level == 0 else COLOURS[(level - 1) % len(COLOURS)],
            ls=DASHES[level % len(DASHES)],
            lw=1.5,
            marker=_MARKERS[level % len(_MARKERS)],
            ms=5,
            mec="white",
            mew=0.6,
            label=setting_label(labels[level], 28, 2),
        )
    legend = axes.legend(
        title=setting_label(effects.factors[second].name, 24, 1),
        title_fontsize=7,
        fontsize=7,
        frameon=False,
        alignment="left",
        handlelength=1.8,
        loc="upper right",
        ncols=1 if len(labels) <= _MOST_UPRIGHT else 2,
    )
    for text in (legend.get_title(), *legend.get_texts()):
        text.set_parse_math(False)
    names = (effects.factors[place].name for place in effect.term)
    title = setting_label(" x ".join(names), 32, 2)
    _dress(axes, effects.factors[first], title, effect)
    axes.set_xlabel(setting_label(effects.factors[first].name, 30, 1), fontsize=8, parse_math=False)
    return 1 + sum(1 + text.get_text().count("\n") for text in legend.get_texts())
