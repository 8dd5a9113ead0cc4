"""Augmentations: how training images are varied, and how all images are presented."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from math import prod
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Shaped
from pydantic import Field, model_validator
from torch import Tensor

from capsmodel.functional.constants import kept_as
from capsmodel.functional.images import affine_matrices, mapped_by, moved_by, squares_of
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
_COLOURS = 3
_NUM_DRAWS = 10  # four of an affine map, one of a flip, two of a crop, three of colours


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
        """Whether the network sees values in [0, 1]. Standardised values are outside."""
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
        patches = squares_of(images, self.size, top, left)
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
        return self._finished(_middle(images, self.size))

    def _check_fits(self, images: Float[Tensor, "batch channels height width"]) -> None:
        _, channels, height, width = images.shape
        self.shape((channels, height, width))

    def _finished(
        self, patches: Float[Tensor, "batch channels new_height new_width"]
    ) -> Float[Tensor, "batch channels new_height new_width"]:
        if not self.standardise:
            return patches.clamp(0, 1)
        num_values = prod(patches.shape[1:])
        centred = patches - patches.mean(dim=(1, 2, 3), keepdim=True)
        deviation = centred.square().mean(dim=(1, 2, 3), keepdim=True).sqrt()
        return centred / deviation.clamp(min=1 / (_GREY_VALUES * num_values**0.5))


class Steps(Augmentation):
    """Padding, flips, affine maps, crops, changes of colour and standardising, each off by default.

    They are done in this order. Padding, the crop and standardising present all images to the
    network, also outside training, where the crop is the middle; the other steps vary training
    images alone. `capsmodel.functional.images.channel_moments(images)` gives the means and
    deviations of a training split.

    Source: for black on each side and a random crop of the former size, and for flips, He, Zhang,
    Ren and Sun 2015, arXiv:1512.03385, section 4.2; for padding alone, Sabour, Frosst and Hinton
    2017, arXiv:1710.09829, section 5.1; for affine maps, Simard, Steinkraus and Platt 2003, Best
    practices for convolutional neural networks; for colours, Howard 2013, arXiv:1312.5402, with the
    formulas of torchvision's ColorJitter; for standardising, LeCun, Bottou, Orr and Mueller 1998,
    Efficient BackProp, section 4.3.
    Difference: one fixed order of the steps, in which brightness comes first, then contrast, then
    saturation; chance is drawn per epoch on the CPU.

    Attributes:
        padding: Pixels of black on each side.
        flip: Whether every second image, by chance, is mirrored left to right.
        rotation: The largest angle, in degrees, either way. Images are scaled, sheared and rotated
            about their centre at once; values between pixels are interpolated bilinearly, and black
            comes in from outside.
        shear: The most that a pixel is moved along its row for each row.
        scaling: Scales are from 1 minus it to 1 plus it, on each axis its own.
        crop: Height and width of a random square of the image; 0 for the whole image.
        brightness: All values are multiplied by 1 minus it to 1 plus it. This and the next two are
            for images of red, green and blue, and cut values off at 0 and 1.
        contrast: Distances from the image's mean grey are multiplied by 1 minus it to 1 plus it.
        saturation: Distances from each pixel's grey are multiplied by 1 minus it to 1 plus it.
        mean: What is subtracted from all values, one number for all channels or one for each; empty
            for values that stay as they are.
        deviation: What they are then divided by, as many numbers.
    """

    kind: Literal["steps"] = "steps"
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "mnist": {"mean": (0.13066047,), "deviation": (0.3081078,)},
            "cifar10": {
                "padding": 4,
                "flip": True,
                "crop": 32,
                "mean": (0.4914, 0.48216, 0.44653),
                "deviation": (0.24703, 0.24349, 0.26159),
            },
        }
    )
    padding: Annotated[int, Field(ge=0, le=1000)] = 0
    flip: bool = False
    rotation: Annotated[float, Field(ge=0, le=180)] = 0.0
    shear: Annotated[float, Field(ge=0, le=1)] = 0.0
    scaling: Annotated[float, Field(ge=0, lt=1)] = 0.0
    crop: Annotated[int, Field(ge=0)] = 0
    brightness: Annotated[float, Field(ge=0, le=1)] = 0.0
    contrast: Annotated[float, Field(ge=0, le=1)] = 0.0
    saturation: Annotated[float, Field(ge=0, le=1)] = 0.0
    mean: tuple[float, ...] = ()
    deviation: tuple[Annotated[float, Field(gt=0)], ...] = ()

    @model_validator(mode="after")
    def _check_moments(self) -> "Steps":
        if len(self.mean) != len(self.deviation):
            raise ValueError(
                f"mean and deviation must have as many numbers as each other, got "
                f"{len(self.mean)} and {len(self.deviation)}: give both, or neither."
            )
        return self

    @property
    def keeps_range(self) -> bool:
        """Whether the network sees values in [0, 1]. Standardised values are outside."""
        return not self.mean

    def shape(self, image_shape: tuple[int, int, int]) -> tuple[int, int, int]:
        """Return the shape of the images with their padding, or of the crop.

        Raises:
            ValueError: If the crop is larger, or a step is for other channels.
        """
        channels, *sides = image_shape
        height, width = (side + 2 * self.padding for side in sides)
        if self._changes_colours and channels != _COLOURS:
            raise ValueError(
                f"Changes of colour are for images of {_COLOURS} channels, red, green and blue, "
                f"and these have {channels}: set augmentation.brightness, augmentation.contrast "
                f"and augmentation.saturation to 0."
            )
        if len(self.mean) not in {0, 1, channels}:
            raise ValueError(
                f"augmentation.mean has {len(self.mean)} numbers, and the images have {channels} "
                f"channels: give one number for all of them, or one for each."
            )
        if self.crop > min(height, width):
            raise ValueError(
                f"A crop of {self.crop} x {self.crop} pixels does not fit into images of {height} "
                f"x {width}, padding included: set augmentation.crop to at most "
                f"{min(height, width)}."
            )
        return (channels, self.crop, self.crop) if self.crop else (channels, height, width)

    def draw(self, num_images: int, generator: torch.Generator) -> Shaped[Tensor, "images draws"]:
        """Return numbers in [0, 1) for each step of each image.

        They do not depend on the settings, so arms of a sweep share them.
        """
        return torch.rand(num_images, _NUM_DRAWS, generator=generator)

    def apply(
        self,
        images: Float[Tensor, "batch channels height width"],
        draws: Shaped[Tensor, "batch draws"],
    ) -> Float[Tensor, "batch channels new_height new_width"]:
        """Return the varied images.

        Raises:
            ValueError: If a step is for other images.
        """
        self._check_fits(images)
        flip, top, left, *colours = draws[:, 4:].unbind(1)
        of_map = draws[:, :4]
        images = F.pad(images, [self.padding] * 4)
        if self.flip:
            images = torch.where(_per_image(flip) < 0.5, images.flip(3), images)
        if max(ranges := (self.rotation, self.shear, self.scaling)) > 0:
            matrices = affine_matrices(of_map, *ranges)
            centred = torch.zeros_like(of_map[:, :2])
            images = mapped_by(images, matrices, centred).clamp(0, 1)
        if self.crop:
            images = squares_of(images, self.crop, top, left)
        if self._changes_colours:
            images = self._recoloured(images, [2 * colour - 1 for colour in colours])
        return self._standardised(images)

    def plain(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels new_height new_width"]:
        """Return the images with their padding, or the middle of them, standardised.

        Raises:
            ValueError: If a step is for other images.
        """
        self._check_fits(images)
        images = F.pad(images, [self.padding] * 4)
        return self._standardised(_middle(images, self.crop) if self.crop else images)

    @property
    def _changes_colours(self) -> bool:
        return max(self.brightness, self.contrast, self.saturation) > 0

    def _check_fits(self, images: Float[Tensor, "batch channels height width"]) -> None:
        _, channels, height, width = images.shape
        self.shape((channels, height, width))

    def _recoloured(
        self,
        images: Float[Tensor, "batch channels height width"],
        changes: list[Float[Tensor, " batch"]],
    ) -> Float[Tensor, "batch channels height width"]:
        brightness, contrast, saturation = (
            _per_image(1 + most * change)
            for most, change in zip(
                (self.brightness, self.contrast, self.saturation), changes, strict=True
            )
        )
        images = (brightness * images).clamp(0, 1)
        mean = _grey(images).mean(dim=(1, 2, 3), keepdim=True)
        images = (mean + contrast * (images - mean)).clamp(0, 1)
        grey = _grey(images)
        return (grey + saturation * (images - grey)).clamp(0, 1)

    def _standardised(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels height width"]:
        if not self.mean:
            return images
        mean, deviation = (
            kept_as(values, images.device, torch.get_default_dtype()).view(-1, 1, 1)
            for values in (self.mean, self.deviation)
        )
        return (images - mean) / deviation


def _grey(
    images: Float[Tensor, "batch channels height width"],
) -> Float[Tensor, "batch 1 height width"]:
    """Return the brightness of red, green and blue, as torchvision weighs them."""
    red, green, blue = images.split(1, dim=1)
    return 0.2989 * red + 0.587 * green + 0.114 * blue


def _middle(
    images: Float[Tensor, "batch channels height width"], size: int
) -> Float[Tensor, "batch channels new_height new_width"]:
    """Return the squares in the middle."""
    top, left = ((side - size) // 2 for side in images.shape[2:])
    return images[:, :, top : top + size, left : left + size]


def _per_image(values: Float[Tensor, " batch"]) -> Float[Tensor, "batch 1 1 1"]:
    return values.view(-1, 1, 1, 1)


AUGMENTATIONS = (NoAugmentation, Shift, Patches, Steps)
