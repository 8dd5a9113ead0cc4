"""Pure functions on images."""

import math

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
    image = torch.arange(batch, device=images.device).view(-1, 1, 1)
    return padded[image, rows.unsqueeze(2), columns.unsqueeze(1)].permute(0, 3, 1, 2)


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


def affine_matrices(
    draws: Float[Tensor, "batch four"], rotation: float, shear: float, scaling: float
) -> Float[Tensor, "batch 2 2"]:
    """Return matrices that scale, then shear, then rotate, for `mapped_by`.

    Args:
        draws: Numbers in [0, 1] for the rotation, the shear and both scales; with 1/2 for all of
            them nothing changes.
        rotation: The largest angle in degrees, either way.
        shear: The most that a pixel is moved along its row for each row.
        scaling: Scales are from 1 minus it to 1 plus it, on each axis its own.
    """
    turned, sheared, scaled_x, scaled_y = (2 * draws - 1).unbind(1)
    angle, slant = math.radians(rotation) * turned, shear * sheared
    scale_x, scale_y = 1 + scaling * scaled_x, 1 + scaling * scaled_y
    cosine, sine = angle.cos(), angle.sin()
    first = torch.stack([cosine * scale_x, (cosine * slant - sine) * scale_y], dim=1)
    second = torch.stack([sine * scale_x, (sine * slant + cosine) * scale_y], dim=1)
    return torch.stack([first, second], dim=1)


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


def with_coordinates(
    images: Float[Tensor, "batch channels height width"],
) -> Float[Tensor, "batch channels+2 height width"]:
    """Return images with two more channels: row and column of each pixel, evenly from -1 to 1.

    Source: Liu and others 2018, arXiv:1807.03247, section 3.
    Difference: none.

    Example:
        >>> import torch
        >>> with_coordinates(torch.zeros(1, 1, 2, 3))[0, 1:]
        tensor([[[-1., -1., -1.],
                 [ 1.,  1.,  1.]],
        <BLANKLINE>
                [[-1.,  0.,  1.],
                 [-1.,  0.,  1.]]])
    """
    batch, _, height, width = images.shape
    rows, columns = (
        torch.linspace(-1.0, 1.0, size, dtype=images.dtype, device=images.device)
        for size in (height, width)
    )
    places = torch.stack(torch.meshgrid(rows, columns, indexing="ij"))
    return torch.cat([images, places.expand(batch, -1, -1, -1)], dim=1)


def channel_moments(
    images: Float[Tensor, "batch channels height width"],
) -> "tuple[tuple[float, ...], tuple[float, ...]]":
    """Return the mean of each channel over all images and pixels, and its standard deviation."""
    values = images.double().transpose(0, 1).flatten(1)
    deviation, mean = torch.std_mean(values, dim=1, correction=0)
    return tuple(mean.tolist()), tuple(deviation.tolist())
