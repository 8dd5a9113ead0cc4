"""Pure functions on images."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
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
