"""The figures of a design's effects: means by level, and lines that part where two depend."""

import math
import textwrap
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sweeps.aggregation.figures.effect_panels import (
    draw_levels,
    draw_lines,
    legend_of_levels,
)
from sweeps.aggregation.rendering.contents import Figure
from sweeps.aggregation.rendering.figure_style import WIDTH_INCHES, drawable
from sweeps.aggregation.results.effects.effects import Effect, Effects
from sweeps.aggregation.results.effects.means import level_means
from sweeps.aggregation.tables.departures import departure_sentence
from sweeps.records.manifest import Manifest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_ABREAST = 3
_MOST_PANELS = 12
_LINE_SHARE = 0.09  # of a panel's height, that a line of its legend takes
_LARGEST_LEGEND = 0.6
_LINE_CHARACTERS = 105


def effect_figures(manifest: Manifest, found: Effects, name: str) -> tuple[Figure, ...]:
    """Return the figure of levels, and of two factors or more that of pairs.

    Their names: `{name}-levels`, `{name}-pairs`.

    Args:
        manifest: Of a design of factors.
        found: Its effects.
        name: As the manifest declares it.
    """
    if not found.crossed.arms:
        return ()
    levels = Figure(f"{name}-levels", partial(levels_figure, manifest, found))
    if not _pairs(found):
        return (levels,)
    return levels, Figure(f"{name}-pairs", partial(pairs_figure, manifest, found))


def levels_figure(manifest: Manifest, found: Effects) -> "Drawing":
    """Return mean test error by level, a panel a factor, to be drawn in the house's style.

    The bar of a level is the interval of its difference from the first level, around its own mean:
    it leaves out the dashed line, the first level's mean, where the difference leaves out 0.
    """
    shown = range(min(len(found.factors), _MOST_PANELS))
    figure, panels = _grid(manifest, len(shown), "mean test error by level")
    means = level_means(found)
    for place in shown:
        own = [one for one in means if one.factor == place]
        mains = (one for one in found.effects if one.term == (place,))
        draw_levels(panels[place], found.factors[place], own, next(mains, None))
    _finish(figure, panels, legend_of_levels(found), _more(len(found.factors), "setting"))
    return figure


def pairs_figure(manifest: Manifest, found: Effects) -> "Drawing":
    """Return mean test error by two factors at a time, those first that are surest to depend.

    Lines that are not parallel are an interaction of these trials; the words above each panel say
    what may be concluded from it.
    """
    pairs = _pairs(found)
    figure, panels = _grid(
        manifest, min(len(pairs), _MOST_PANELS), "mean test error by two settings"
    )
    lines = [draw_lines(axes, found, one) for axes, one in zip(panels, pairs, strict=False)]
    legend = min(_LINE_SHARE * max(lines), _LARGEST_LEGEND)
    low, high = panels[0].get_ylim()
    panels[0].set_ylim(low, low + (high - low) / (1 - legend))
    _finish(figure, panels, [], _more(len(pairs), "pair"))
    return figure


def _pairs(found: Effects) -> list[Effect]:
    """Return the interactions that can be estimated, by p, those without one last."""
    pairs = [one for one in found.estimated if one.is_interaction]

    def doubt(one: Effect) -> float:
        p_value = one.weighed.p_value if one.weighed else None
        return math.inf if p_value is None else p_value

    return sorted(pairs, key=doubt)


def _grid(manifest: Manifest, num: int, what: str) -> "tuple[Drawing, Sequence[Axes]]":
    from matplotlib.figure import Figure as Drawing  # here, as it takes half a second to import

    rows = math.ceil(num / _ABREAST)
    sentence = textwrap.wrap(drawable(departure_sentence(manifest)), _LINE_CHARACTERS)
    height = 0.9 + 2.3 * rows + 0.17 * len(sentence)
    figure = Drawing(figsize=(WIDTH_INCHES, height), layout="constrained")
    panels = figure.subplots(rows, min(num, _ABREAST), sharey=True, squeeze=False).ravel()
    for axes in panels[num:]:
        axes.axis("off")
    title = "\n".join([*sentence, f"{manifest.sweep}: {what}"])
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, parse_math=False)
    figure.supylabel("Test error (%)", fontsize=9)
    return figure, [*panels[:num]]


def _finish(
    figure: "Drawing",
    panels: "Sequence[Axes]",
    entries: Sequence[tuple[Any, str]],
    more: str,
) -> None:
    """Draw the legend, and what is not drawn."""
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


def _more(num: int, what: str) -> str:
    more = num - _MOST_PANELS
    return f"Not drawn: {more} more {what}{'s' * (more > 1)}." if more > 0 else ""
