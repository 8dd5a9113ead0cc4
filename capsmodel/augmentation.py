"""Augmentations: how training images are varied, and how all images are presented."""

from abc import ABC, abstractmethod
from math import prod
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Float, Shaped
from pydantic import Field, model_validator
from torch import Tensor

from capsmodel.functional.images import moved_by
from capsmodel.settings.parts import Part


class Augmentation(Part, ABC):
    """How training images are varied, and how all images are presented to the network.

    The draws of a whole epoch are made at once on the CPU, so that all devices see the same
    and no step waits for a device. They are applied to each batch on its own device.
    """

    family: ClassVar[str] = "augmentation"

    @abstractmethod
    def draw(self, num_images: int, generator: torch.Generator) -> Shaped[Tensor, "images draws"]:
        """Return the random draws for each image, one row per image, on the CPU."""

    @abstractmethod
    def apply(
        self,
        images: Float[Tensor, "batch channels height width"],
        draws: Shaped[Tensor, "batch draws"],
    ) -> Float[Tensor, "batch channels new_height new_width"]:
        """Return the images varied according to their rows of draws, on their own device."""

    @property
    def keeps_range(self) -> bool:
        """Whether the network sees values in [0, 1], as a decoder draws them; by default True."""
        return True

    def shape(self, image_shape: tuple[int, int, int]) -> tuple[int, int, int]:
        """Return the shape of the images that the network sees, by default the data set's.

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


class NoAugmentation(Augmentation):
    """Images stay as they are."""

    kind: Literal["none"] = "none"

    def draw(self, num_images: int, generator: torch.Generator) -> Shaped[Tensor, "images draws"]:
        """Return empty rows; the generator is not used."""
        return torch.empty(num_images, 0)

    def apply(
        self,
        images: Float[Tensor, "batch channels height width"],
        draws: Shaped[Tensor, "batch draws"],
    ) -> Float[Tensor, "batch channels height width"]:
        """Return the images themselves."""
        return images


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
        return moved_by(images, draws, self.pixels)


_GREY_VALUES = 255


class Patches(Augmentation):
    """Each image becomes a random square of itself, brighter or darker, standardised on its own.

    Outside training it is the square in the middle, standardised likewise. Standardising takes the
    brightness back, and of the contrast leaves only how far the channels' means are apart.

    Source: the program published with Sabour, Frosst and Hinton 2017, arXiv:1710.09829, for
    smallNORB; like there, contrast is about the mean of the whole image, a channel at a time.
    Difference: chance is drawn per epoch on the CPU; patches that are not standardised are clipped
    to [0, 1]; flipping is not in the source.

    Attributes:
        size: Height and width of the patch.
        brightness: The most that is added to or taken from all values of an image.
        contrast_low: Least factor on the distances of values from their mean.
        contrast_high: Largest such factor.
        flip: Whether every second image, by chance, is mirrored left to right.
        standardise: Whether each patch is given mean 0 and standard deviation 1 over all its
            values. Where it is as good as of one grey, it is divided by 1 grey value over the root
            of their number instead.
    """

    kind: Literal["patches"] = "patches"
    size: Annotated[int, Field(ge=1)] = 32
    brightness: Annotated[float, Field(ge=0, le=1)] = 63 / 255
    contrast_low: Annotated[float, Field(ge=0)] = 0.2
    contrast_high: Annotated[float, Field(ge=0)] = 1.8
    flip: bool = False
    standardise: bool = True

    @model_validator(mode="after")
    def _check_contrast(self) -> "Patches":
        if self.contrast_low > self.contrast_high:
            raise ValueError(
                f"contrast_low must be at most contrast_high, got {self.contrast_low:g} and "
                f"{self.contrast_high:g}: exchange them."
            )
        return self

    @property
    def keeps_range(self) -> bool:
        """Whether the network sees values in [0, 1]: not if they are standardised."""
        return not self.standardise

    def shape(self, image_shape: tuple[int, int, int]) -> tuple[int, int, int]:
        """Return the shape of a patch.

        Raises:
            ValueError: If the images are smaller.
        """
        channels, height, width = image_shape
        if self.size > min(height, width):
            raise ValueError(
                f"A patch of {self.size} x {self.size} pixels does not fit into images of {height} "
                f"x {width}: set augmentation.size to at most {min(height, width)}."
            )
        return channels, self.size, self.size

    def draw(self, num_images: int, generator: torch.Generator) -> Shaped[Tensor, "images draws"]:
        """Return numbers in [0, 1) for the place, the light and the flip of each patch.

        They do not depend on the settings, so arms of a sweep share them.
        """
        return torch.rand(num_images, 5, generator=generator)

    def apply(
        self,
        images: Float[Tensor, "batch channels height width"],
        draws: Shaped[Tensor, "batch draws"],
    ) -> Float[Tensor, "batch channels new_height new_width"]:
        """Return the patches.

        Raises:
            ValueError: If the images are smaller.
        """
        self._check_fits(images)
        top, left, brightness, contrast, flip = draws.unbind(1)
        patches = self._cut(images, top, left)
        factor = self.contrast_low + (self.contrast_high - self.contrast_low) * contrast
        offset = self.brightness * (2 * brightness - 1)
        mean = images.mean(dim=(2, 3), keepdim=True)
        lit = (patches - mean) * _per_image(factor) + mean + _per_image(offset)
        if self.flip:
            lit = torch.where(_per_image(flip) < 0.5, lit.flip(3), lit)
        return self._finished(lit)

    def plain(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels new_height new_width"]:
        """Return the patches in the middle.

        Raises:
            ValueError: If the images are smaller.
        """
        self._check_fits(images)
        top, left = ((side - self.size) // 2 for side in images.shape[2:])
        return self._finished(images[:, :, top : top + self.size, left : left + self.size])

    def _check_fits(self, images: Float[Tensor, "batch channels height width"]) -> None:
        _, channels, height, width = images.shape
        self.shape((channels, height, width))

    def _cut(
        self,
        images: Float[Tensor, "batch channels height width"],
        top: Float[Tensor, " batch"],
        left: Float[Tensor, " batch"],
    ) -> Float[Tensor, "batch channels new_height new_width"]:
        """Return the patches at positions given as fractions of the possible range."""
        windows = images.unfold(2, self.size, 1).unfold(3, self.size, 1)
        rows, columns = (top * windows.shape[2]).long(), (left * windows.shape[3]).long()
        return windows[torch.arange(len(images), device=images.device), :, rows, columns]

    def _finished(
        self, patches: Float[Tensor, "batch channels new_height new_width"]
    ) -> Float[Tensor, "batch channels new_height new_width"]:
        if not self.standardise:
            return patches.clamp(0, 1)
        num_values = prod(patches.shape[1:])
        centred = patches - patches.mean(dim=(1, 2, 3), keepdim=True)
        deviation = centred.square().mean(dim=(1, 2, 3), keepdim=True).sqrt()
        return centred / deviation.clamp(min=1 / (_GREY_VALUES * num_values**0.5))


def _per_image(values: Float[Tensor, " batch"]) -> Float[Tensor, "batch 1 1 1"]:
    return values.view(-1, 1, 1, 1)


AUGMENTATIONS = (NoAugmentation, Shift, Patches)
