"""No augmentation."""

from typing import Literal

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from capsmodel.augmentation.base import Augmentation


class NoAugmentation(Augmentation):
    """Images stay as they are."""

    kind: Literal["none"] = "none"

    def draw(self, num_images: int, generator: torch.Generator) -> Shaped[Tensor, "images draws"]:
        """Return rows of nothing; the generator is not used."""
        return torch.empty(num_images, 0)

    def apply(
        self,
        images: Float[Tensor, "batch channels height width"],
        draws: Shaped[Tensor, "batch draws"],
    ) -> Float[Tensor, "batch channels height width"]:
        """Return the images themselves."""
        return images
