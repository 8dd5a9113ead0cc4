"""The figure of importances: a bar a setting, with its band, and a second opinion below it."""

from typing import TYPE_CHECKING, Any

from sweeps.aggregation.figures.setting_labels import draw_legend, label_of
from sweeps.aggregation.rendering.figure_style import BLUE, GREY, GRID, WIDTH_INCHES
from sweeps.aggregation.sensitivity.described import SettingSensitivity
from sweeps.aggregation.sensitivity.sample import FEWEST_TRIALS
from sweeps.aggregation.sensitivity.sensitivity import Sensitivity
from sweeps.aggregation.statistics.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PALE_BLUE = "#A9CCE3"
_SILENCES = {
    "few": f"fewer than {FEWEST_TRIALS} counted trials",
    "equal results": "all results are equal",
    "one value": "only one value among the counted trials",
}


def importance_figure(sensitivity: Sensitivity) -> "Figure":
    """Return the importances as bars; where there is none, the reason in words instead."""
    from matplotlib.figure import Figure

    if not any(setting.fanova for setting in sensitivity.settings):
        return _words_instead(sensitivity)
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
    axes.set_xlabel("Share beyond that of shuffled values (%)")
    _title(axes, sensitivity)
    _draw_key(figure, sensitivity)
    return figure


def _words_instead(sensitivity: Sensitivity) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_INCHES, 1.1), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    _title(axes, sensitivity)
    silences = {setting.silence for setting in sensitivity.settings}
    reasons = [words for silence, words in _SILENCES.items() if silence in silences]
    counted = len(sensitivity.sample.values)
    text = (
        f"No importance is given: {'; '.join(reasons)} ({counted} count).\nSee the means by value."
    )
    axes.text(0, 0.9, text, va="top", transform=axes.transAxes, color=GREY, style="italic")
    return figure


def _title(axes: "Axes", sensitivity: Sensitivity) -> None:
    epoch = sensitivity.sample.epoch
    when = "" if epoch is None else f", after epoch {epoch}"
    title = f"{sensitivity.results.sweep}: how much each setting matters{when}"
    axes.set_title(title, loc="left", fontsize=10, parse_math=False)


def _draw_setting(
    axes: "Axes", place: int, setting: SettingSensitivity, sensitivity: Sensitivity
) -> None:
    if setting.fanova is None or setting.ped_anova is None:
        axes.annotate(
            f"no importance: {_SILENCES.get(setting.silence, '')}",
            (0, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            style="italic",
            color=GREY,
            fontsize=8,
        )
        return
    share = setting.fanova.share
    color = BLUE if sensitivity.is_bold(setting.fanova) else _PALE_BLUE
    axes.barh(place - 0.08, share.mean or 0.0, 0.44, color=color)
    _draw_band(axes, place - 0.08, share, color="black", fmt="none", elinewidth=1.2)
    marker: dict[str, Any] = {"fmt": "D", "markersize": 3, "markerfacecolor": "white"}
    _draw_band(axes, place + 0.3, setting.ped_anova.share, color=GREY, elinewidth=0.8, **marker)


def _draw_band(axes: "Axes", place: float, band: Interval, **style: Any) -> None:
    mean, low, high = band.mean or 0.0, band.low or 0.0, band.high or 0.0
    ends = [[max(0.0, mean - low)], [max(0.0, high - mean)]]
    axes.errorbar([mean], [place], xerr=ends, capsize=2, zorder=4, **style)


def _draw_key(figure: "Figure", sensitivity: Sensitivity) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries = [
        Patch(color=BLUE),
        Patch(color=_PALE_BLUE),
        Line2D([], [], color="black", lw=1.2),
        Line2D([], [], color=GREY, lw=0.8, marker="D", ms=3, mfc="white"),
    ]
    texts = ["importance (fANOVA)", "not above chance", "95 % band", "by PED-ANOVA"]
    if sensitivity.sample.is_chosen:
        entries, texts = entries[1:], ["importance (fANOVA), proposed by results", *texts[2:]]
    draw_legend(figure, entries, texts)
