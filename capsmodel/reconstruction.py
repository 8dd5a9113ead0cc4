"""Reconstructions: what the class capsules must encode of the image besides its class."""

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, Literal

import torch.nn.functional as F
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from capsmodel.initialised import InitialisedModule
from capsmodel.layers.linear import Decoder
from capsmodel.search_range import Floats
from capsmodel.settings.parts import Part


class Reconstruction(Part, ABC):
    """What the class capsules must encode of the image besides its class."""

    family: ClassVar[str] = "reconstruction"

    @abstractmethod
    def build(self, num_values: int, image_shape: tuple[int, int, int]) -> InitialisedModule | None:
        """Return the module that draws images from rows of masked poses, or None without one.

        Args:
            num_values: Length of a row: classes times pose.
            image_shape: Channels, height, width.
        """

    @abstractmethod
    def penalty(
        self,
        reconstructions: Float[Tensor, "batch *several channels height width"],
        images: Float[Tensor, "batch *several channels height width"],
    ) -> Float[Tensor, ""]:
        """Return the term of the loss, mean over the images; called only if there is a module."""


class FullyConnectedDecoder(Reconstruction):
    """Linear layers draw the image from the pose of its class.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 4.1 and figure 2.
    Difference: none. The cross-entropy is not theirs; each pixel's brightness is then taken for the
    probability that it is white. Its gradient goes past the decoder's sigmoid, so it does not fade
    where a pixel is drawn wrong with certainty. As few numbers lie near 1, it does so where a pixel
    is drawn as exactly 1.

    Attributes:
        hidden: Units of each hidden layer.
        weight: Weight of the error, summed over an image, against the loss.
        error: "squared", or "binary_cross_entropy", for which images must have values in [0, 1].
    """

    kind: Literal["fully_connected"] = "fully_connected"
    hidden: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)] = (512, 1024)
    weight: Annotated[float, Field(gt=0), Floats(1e-5, 1e-2, log=True)] = 0.0005
    error: Literal["squared", "binary_cross_entropy"] = "squared"

    def build(self, num_values: int, image_shape: tuple[int, int, int]) -> Decoder:
        """Return the decoder."""
        return Decoder(num_values, self.hidden, image_shape)

    def penalty(
        self,
        reconstructions: Float[Tensor, "batch *several channels height width"],
        images: Float[Tensor, "batch *several channels height width"],
    ) -> Float[Tensor, ""]:
        """Return the weighted error, summed over each image, mean over the images.

        It is finite, and so is its gradient: a pixel's logarithm is taken as -100 at least.
        """
        if self.error == "squared":
            errors = (reconstructions - images).square()
        else:
            errors = F.binary_cross_entropy(reconstructions, images, reduction="none")
        return self.weight * errors.sum(dim=tuple(range(1, errors.ndim))).mean()


class NoReconstruction(Reconstruction):
    """The network draws no images."""

    kind: Literal["none"] = "none"

    def build(self, num_values: int, image_shape: tuple[int, int, int]) -> InitialisedModule | None:
        """Return None."""
        return None

    def penalty(
        self,
        reconstructions: Float[Tensor, "batch *several channels height width"],
        images: Float[Tensor, "batch *several channels height width"],
    ) -> Float[Tensor, ""]:
        """Return zero."""
        return images.new_zeros(())


RECONSTRUCTIONS = (FullyConnectedDecoder, NoReconstruction)
