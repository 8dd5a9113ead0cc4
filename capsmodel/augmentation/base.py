"""What every augmentation promises."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from capsmodel.parts import Part


class Augmentation(Part, ABC):
    """How training images are varied.

    The draws of a whole epoch are made at once on the CPU, so that all devices see the same
    and none is waited for in each step; they are applied to a batch where it lies.
    """

    family: ClassVar[str] = "augmentation"

    @abstractmethod
    def draw(self, num_images: int, generator: torch.Generator) -> Shaped[Tensor, "images draws"]:
        """Return what chance decides for each of the images, one row an image, on the CPU."""

    @abstractmethod
    def apply(
        self,
        images: Float[Tensor, "batch channels height width"],
        draws: Shaped[Tensor, "batch draws"],
    ) -> Float[Tensor, "batch channels height width"]:
        """Return the images varied as their rows of draws say, on their own device."""
