"""Random shifts."""

from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Shaped
from pydantic import Field
from torch import Tensor

from capsmodel.augmentation.base import Augmentation


class Shift(Augmentation):
    """Each image moves by its own whole number of pixels; zeros come in at the edge.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 5.
    Difference: a fresh shift in every epoch, not a stored set of all shifted images.

    Attributes:
        pixels: Largest shift in each of the four directions.
    """

    kind: Literal["shift"] = "shift"
    pixels: Annotated[int, Field(ge=1)] = 2

    def draw(self, num_images: int, generator: torch.Generator) -> Shaped[Tensor, "images draws"]:
        """Return the shift down and to the right of each image."""
        size = (num_images, 2)
        return torch.randint(-self.pixels, self.pixels + 1, size, generator=generator)

    def apply(
        self,
        images: Float[Tensor, "batch channels height width"],
        draws: Shaped[Tensor, "batch draws"],
    ) -> Float[Tensor, "batch channels height width"]:
        """Return the shifted images."""
        batch, _, height, width = images.shape
        padded = F.pad(images, [self.pixels] * 4).permute(0, 2, 3, 1)
        starts = self.pixels - draws
        rows = starts[:, :1] + torch.arange(height, device=images.device)
        columns = starts[:, 1:] + torch.arange(width, device=images.device)
        which = torch.arange(batch, device=images.device).view(-1, 1, 1)
        return padded[which, rows.unsqueeze(2), columns.unsqueeze(1)].permute(0, 3, 1, 2)
