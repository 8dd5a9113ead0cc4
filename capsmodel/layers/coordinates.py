"""Coordinate addition: where a capsule is becomes a part of its vote."""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.layers.convolution import Window

Coordinates = Literal["none", "paper", "official"]


def coordinate_offsets(
    kind: Coordinates, windows: Sequence[Window], size: tuple[int, int], pose: tuple[int, int]
) -> Float[Tensor, "places pose"] | None:
    """Return what is added to the votes of the capsules at each place, row after row.

    "paper" adds row and column of the place, scaled to (0, 1), to the first two elements of the
    right-hand column of a matrix. "official", which is what the authors' code does, adds the pixel
    that the capsule looks at the centre of, from the middle of the image in hundreds of pixels, to
    the first two elements of the first row. Both take the first two elements of a vector.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", section 4.
    Difference: the paper does not state the scale; (place + 0.5) / places is taken. The authors'
    code swaps the two elements with each convolution, which only renames two columns of weights.

    Args:
        kind: Which; "none" adds nothing.
        windows: All windows from the image to the capsules.
        size: Rows and columns of the image in pixels.
        pose: Rows and columns of a pose.

    Raises:
        ValueError: If a pose has fewer than two elements to add to.
    """
    if kind == "none":
        return None
    rows, columns = pose
    first, second = (0, 1) if kind == "official" or rows == 1 else (columns - 1, 2 * columns - 1)
    if second >= rows * columns:
        raise ValueError(
            f"Coordinate addition needs a pose of at least 2 numbers, got {rows * columns}: choose "
            f"a larger pose or coordinates 'none'."
        )
    places = [_places(kind, windows, pixels) for pixels in size]
    offsets = torch.zeros(len(places[0]), len(places[1]), rows * columns, device="cpu")
    offsets[:, :, first] = torch.tensor(places[0], device="cpu").unsqueeze(1)
    offsets[:, :, second] = torch.tensor(places[1], device="cpu")
    return offsets.flatten(0, 1)


def _places(kind: Coordinates, windows: Sequence[Window], pixels: int) -> list[float]:
    """Return the coordinate of each place along an axis of the image."""
    centres = [float(pixel) for pixel in range(pixels)]
    for window in windows:
        middle = (window.kernel - 1) / 2 - window.padding
        positions = window.positions(len(centres))
        step = centres[1] - centres[0] if len(centres) > 1 else 1.0
        start = centres[0] + middle * step
        centres = [start + place * window.stride * step for place in range(positions)]
    if kind == "official":
        return [(centre - pixels // 2) / 100 for centre in centres]
    return [(place + 0.5) / len(centres) for place in range(len(centres))]
