"""What every reconstruction promises."""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from capsmodel.initialised import InitialisedModule
from capsmodel.settings.parts import Part


class Reconstruction(Part, ABC):
    """What the class capsules must tell of the image beyond its class."""

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
        reconstructions: Float[Tensor, "batch channels height width"],
        images: Float[Tensor, "batch channels height width"],
    ) -> Float[Tensor, ""]:
        """Return what is added to the loss, mean over the images; asked only with a module."""
