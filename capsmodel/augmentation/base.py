"""What every augmentation promises."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from capsmodel.settings.parts import Part


class Augmentation(Part, ABC):
    """How training images are varied, and how all images are presented to the network.

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
    ) -> Float[Tensor, "batch channels new_height new_width"]:
        """Return the images varied as their rows of draws say, on their own device."""

    @property
    def keeps_range(self) -> bool:
        """Whether the network is given values in [0, 1], as a decoder draws: by default so."""
        return True

    def shape(self, image_shape: tuple[int, int, int]) -> tuple[int, int, int]:
        """Return the shape of the images that the network is given: by default the data set's.

        Args:
            image_shape: Channels, height, width of the data set's images.

        Raises:
            ValueError: If images of this shape are too small.
        """
        return image_shape

    def plain(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels new_height new_width"]:
        """Return the images as they are presented outside training: by default as they are.

        Raises:
            ValueError: If they are too small.
        """
        return images
