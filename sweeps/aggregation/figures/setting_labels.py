"""What the figures of a search's settings share: how a setting is called, and the legend."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sweeps.aggregation.rendering.figure_style import setting_label
from sweeps.aggregation.sensitivity.described import SettingSensitivity
from sweeps.aggregation.sensitivity.sensitivity import Sensitivity

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def label_of(sensitivity: Sensitivity, setting: SettingSensitivity, width: int) -> str:
    """Return the setting's name, with n where not all counted trials have it."""
    label = setting_label(setting.dimension.name, width)
    is_partial = len(setting.trials) < len(sensitivity.sample.values)
    return f"{label} (n = {len(setting.trials)})" if is_partial else label


def draw_legend(figure: "Figure", entries: Sequence[Any], texts: list[str]) -> None:
    """Draw the legend below a figure, in one row."""
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
