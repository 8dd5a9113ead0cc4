"""The bytes of a figure depend on its content alone, in each format."""

from typing import TYPE_CHECKING

import pytest

from sweeps.aggregation.rendering.figure_style import ImageFormat, drawn

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def line() -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().plot([0, 1], [0, 1], label="error (%)")
    return figure


@pytest.mark.parametrize(
    ("image_format", "head"),
    [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")],
    ids=["png", "svg", "pdf"],
)
def test_a_figure_holds_no_date_and_no_version(image_format: ImageFormat, head: bytes) -> None:
    content = drawn(line, image_format)
    assert content.startswith(head)
    for word in (b"Date", b"Matplotlib", b"Software", b"Creator", b"Producer"):
        assert word not in content
