"""How lines are told apart: by colours, and by dashes where these do not suffice."""

from typing import Any

from sweeps.aggregation.rendering.figure_style import BLUE

COLOURS = (BLUE, "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Of the palette of Okabe and Ito, told apart by the colour-blind, but for the baseline's orange.

Its yellow is too pale for lines.
"""

DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.5, 1.5)))
