"""Pure functions on images."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Shaped
from torch import Tensor


def moved_by(
    images: Float[Tensor, "batch channels height width"],
    shifts: Int[Tensor, "batch axes"],
    most: int,
) -> Float[Tensor, "batch channels height width"]:
    """Return images, each moved down and to the right by its own number of pixels.

    Args:
        images: On any device.
        shifts: Pixels down and to the right.
        most: The largest of them.
    """
    batch, _, height, width = images.shape
    padded = F.pad(images, [most] * 4).permute(0, 2, 3, 1)
    rows = (most - shifts[:, :1]) + torch.arange(height, device=images.device)
    columns = (most - shifts[:, 1:]) + torch.arange(width, device=images.device)
    which = torch.arange(batch, device=images.device).view(-1, 1, 1)
    return padded[which, rows.unsqueeze(2), columns.unsqueeze(1)].permute(0, 3, 1, 2)


def mapped_by(
    images: Float[Tensor, "batch channels height width"],
    matrices: Float[Tensor, "batch 2 2"],
    translations: Float[Tensor, "batch 2"],
) -> Float[Tensor, "batch channels height width"]:
    """Return images, each under its own affine map; all channels of an image under the same.

    What lies at a place comes to lie at `matrix @ place + translation`, where places are pixels to
    the right and down from the centre. Between pixels it is interpolated bilinearly, and black
    comes in from outside. An image is the same alone as in a batch, to the bit.

    Args:
        images: On any device.
        matrices: Invertible.
        translations: Pixels to the right and down.
    """
    height, width = images.shape[2:]
    a, b, c, d = matrices.flatten(1).view(-1, 4, 1, 1).unbind(1)
    scale = a * d - b * c
    x = torch.arange(width, device=images.device) - (width - 1) / 2 - translations[:, :1]
    y = torch.arange(height, device=images.device) - (height - 1) / 2 - translations[:, 1:]
    x, y = x.unsqueeze(1), y.unsqueeze(2)
    columns, rows = (d * x - b * y) / scale, (a * y - c * x) / scale
    grid = torch.stack([columns * (2 / width), rows * (2 / height)], dim=3)
    return F.grid_sample(images, grid, mode="bilinear", align_corners=False)


def rotated_by(
    images: Float[Tensor, "batch channels height width"], degrees: Float[Tensor, " batch"]
) -> Float[Tensor, "batch channels height width"]:
    """Return images, each turned counter-clockwise about its centre by its own angle.

    Args:
        images: On any device.
        degrees: Their angles.
    """
    radians = degrees.deg2rad()
    cosine, sine = radians.cos(), radians.sin()
    rows = [torch.stack([cosine, sine], dim=1), torch.stack([-sine, cosine], dim=1)]
    return mapped_by(images, torch.stack(rows, dim=1), torch.zeros_like(rows[0]))


def squares_of(
    images: Shaped[Tensor, "batch channels height width"],
    size: int,
    top: Float[Tensor, " batch"],
    left: Float[Tensor, " batch"],
) -> Shaped[Tensor, "batch channels new_height new_width"]:
    """Return a square of each image.

    Args:
        images: On any device.
        size: Height and width of the squares, at most those of the images.
        top: Where each begins, as a fraction in [0, 1) of the rows that it may begin at.
        left: The same of the columns.
    """
    windows = images.unfold(2, size, 1).unfold(3, size, 1)
    rows, columns = (top * windows.shape[2]).long(), (left * windows.shape[3]).long()
    return windows[torch.arange(len(images), device=images.device), :, rows, columns]


def channel_moments(
    images: Float[Tensor, "batch channels height width"],
) -> "tuple[tuple[float, ...], tuple[float, ...]]":
    """Return the mean of each channel over all images and pixels, and its standard deviation."""
    values = images.double().transpose(0, 1).flatten(1)
    deviation, mean = torch.std_mean(values, dim=1, correction=0)
    return tuple(mean.tolist()), tuple(deviation.tolist())
