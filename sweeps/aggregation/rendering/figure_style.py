"""The style of figures, and their bytes, which depend on the content alone."""

import io
import re
import textwrap
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast

from sweeps.records.plain_text import one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ImageFormat = Literal["png", "svg", "pdf"]
BLUE = "#0072B2"  # of the palette of Okabe and Ito, told apart by the colour-blind
ORANGE = "#D55E00"
GREY = "#5A5A5A"
GRID = "#DDDDDD"
WIDTH_INCHES = 6.8
_STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "svg.hashsalt": "capsweep",  # fixed ids, so that equal results give equal files
    "svg.fonttype": "path",
    "pdf.fonttype": 42,  # publishers refuse the default
}
_DATED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "png": ("Software",),
        "svg": ("Date", "Creator"),
        "pdf": ("CreationDate", "Creator", "Producer"),
    }
)


@contextmanager
def figure_style() -> Generator[None]:
    """Use the house's style inside this context, whatever the user's settings."""
    import matplotlib  # here, as it takes half a second to import

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        for setting, value in _STYLE.items():
            matplotlib.rcParams[cast(Any, setting)] = value
        yield


def image_bytes(figure: "Figure", image_format: ImageFormat) -> bytes:
    """Return the figure as a file without dates and versions. Call it inside `figure_style`."""
    buffer = io.BytesIO()
    nothing = dict.fromkeys(_DATED[image_format])
    figure.savefig(buffer, format=image_format, dpi=200, metadata=nothing)
    return buffer.getvalue()


def drawn(draw: Callable[[], "Figure"], image_format: ImageFormat) -> bytes:
    """Return a drawing as PNG, SVG or PDF, byte for byte the same for the same content."""
    with figure_style():
        return image_bytes(draw(), image_format)


def drawable(text: str) -> str:
    """Return the text with a question mark for each character that the font does not hold."""
    glyphs = _glyphs()
    return "".join(character if ord(character) in glyphs else "?" for character in text)


@cache
def _glyphs() -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset(get_font(findfont(FontProperties(family="DejaVu Sans"))).get_charmap())


def setting_label(name: str, width: int, most_lines: int = 3) -> str:
    """Return a setting's dotted name over a few lines, broken behind a dot or an underline.

    A name that is too long loses its beginning: what a path ends in says most.
    """
    lines: list[str] = []
    for step in re.findall(r"[^._]+[._]?|[._]", drawable(one_line(name))):
        for piece in textwrap.wrap(step, width) or [step]:
            if lines and len(lines[-1]) + len(piece) <= width:
                lines[-1] += piece
            else:
                lines.append(piece)
    if len(lines) > most_lines:
        lines = [f"...{lines[-most_lines]}", *lines[len(lines) - most_lines + 1 :]]
    return "\n".join(lines)


COLOURS = (BLUE, "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Of the palette of Okabe and Ito, told apart by the colour-blind, but for the baseline's orange.

Its yellow is too pale for lines.
"""


DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.5, 1.5)))
