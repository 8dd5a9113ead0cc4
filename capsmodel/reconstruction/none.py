"""No reconstruction: only the loss on the lengths trains the network."""

from typing import Literal

from jaxtyping import Float
from torch import Tensor

from capsmodel.initialised import InitialisedModule
from capsmodel.reconstruction.base import Reconstruction


class NoReconstruction(Reconstruction):
    """The network draws no images."""

    kind: Literal["none"] = "none"

    def build(self, num_values: int, image_shape: tuple[int, int, int]) -> InitialisedModule | None:
        """Return None."""
        return None

    def penalty(
        self,
        reconstructions: Float[Tensor, "batch channels height width"],
        images: Float[Tensor, "batch channels height width"],
    ) -> Float[Tensor, ""]:
        """Return zero."""
        return images.new_zeros(())
