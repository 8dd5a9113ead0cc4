"""The fully connected decoder of the first capsule network."""

from typing import Annotated, Literal

from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from capsmodel.layers.decoder import Decoder
from capsmodel.reconstruction.base import Reconstruction
from capsmodel.search_range import Floats


class FullyConnectedDecoder(Reconstruction):
    """Linear layers draw the image from the pose of its class.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 4.1 and figure 2.
    Difference: none.

    Attributes:
        hidden: Units of each hidden layer.
        weight: Weight of the squared error, summed over an image, against the loss.
    """

    kind: Literal["fully_connected"] = "fully_connected"
    hidden: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)] = (512, 1024)
    weight: Annotated[float, Field(gt=0), Floats(1e-5, 1e-2, log=True)] = 0.0005

    def build(self, num_values: int, image_shape: tuple[int, int, int]) -> Decoder:
        """Return the decoder."""
        return Decoder(num_values, self.hidden, image_shape)

    def penalty(
        self,
        reconstructions: Float[Tensor, "batch channels height width"],
        images: Float[Tensor, "batch channels height width"],
    ) -> Float[Tensor, ""]:
        """Return the weighted squared error, summed over each image, mean over the images."""
        return self.weight * (reconstructions - images).square().sum(dim=(1, 2, 3)).mean()
