"""The first capsule network with routing."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from capsmodel.functional import keep_class
from capsmodel.layers import Capsules, Convolution, PrimaryCapsules
from capsmodel.layers.convolution import Window
from capsmodel.models.base import Model, Network, Outputs, couplings_of
from capsmodel.parts import OneOf
from capsmodel.reconstruction import RECONSTRUCTIONS, FullyConnectedDecoder, Reconstruction
from capsmodel.routing import ROUTINGS, DynamicRouting, Routing
from capsmodel.search_range import Choices

Size = Annotated[int, Field(ge=1)]


class CapsNet(Model):
    """A convolution, primary capsules, class capsules, and a decoder of their poses.

    The defaults are the paper's network for 28 by 28 grey images: 8,215,568 parameters, of which
    1,411,344 are the decoder's.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 4 and figure 1.
    Difference: none. The authors' code has biases in the class capsules and divides the primary
    poses by the number of types.

    Attributes:
        conv_channels: Feature maps of the first convolution.
        conv_kernel: Its kernel in pixels.
        conv_stride: Its stride.
        conv_padding: Zeros around the image.
        primary_types: Types of primary capsules.
        primary_dim: Length of a primary capsule's pose.
        primary_kernel: Kernel of the primary capsules.
        primary_stride: Their stride.
        primary_padding: Zeros around the feature maps.
        class_dim: Length of a class capsule's pose.
        routing: How votes of primary capsules become poses of class capsules.
        reconstruction: What the class capsules must tell of the image beyond its class.
    """

    kind: Literal["capsnet"] = "capsnet"
    conv_channels: Annotated[Size, Choices(32, 64, 128, 256)] = 256
    conv_kernel: Size = 9
    conv_stride: Size = 1
    conv_padding: Annotated[int, Field(ge=0)] = 0
    primary_types: Annotated[Size, Choices(4, 8, 16, 32)] = 32
    primary_dim: Annotated[Size, Choices(4, 8, 16)] = 8
    primary_kernel: Size = 9
    primary_stride: Size = 2
    primary_padding: Annotated[int, Field(ge=0)] = 0
    class_dim: Annotated[Size, Choices(8, 16, 32)] = 16
    routing: Annotated[Routing, OneOf(ROUTINGS)] = DynamicRouting()
    reconstruction: Annotated[Reconstruction, OneOf(RECONSTRUCTIONS)] = FullyConnectedDecoder()

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> "CapsuleNetwork":
        """Return the network.

        Raises:
            ValueError: If a kernel is larger than what it looks at.
        """
        return CapsuleNetwork(self, image_shape, num_classes)


class CapsuleNetwork(Network):
    """The module that a `CapsNet` describes."""

    def __init__(
        self, settings: CapsNet, image_shape: tuple[int, int, int], num_classes: int
    ) -> None:
        super().__init__()
        first = Window(settings.conv_kernel, settings.conv_stride, settings.conv_padding)
        second = Window(settings.primary_kernel, settings.primary_stride, settings.primary_padding)
        channels, height, width = image_shape
        rows, columns = (second.positions(first.positions(size)) for size in (height, width))
        in_caps = settings.primary_types * rows * columns
        self.reconstruction = settings.reconstruction
        self.convolution = Convolution(channels, settings.conv_channels, first)
        self.primary = PrimaryCapsules(
            settings.conv_channels, settings.primary_types, settings.primary_dim, second
        )
        self.capsules = Capsules(
            (in_caps, settings.primary_dim), (num_classes, settings.class_dim), settings.routing
        )
        self.decoder = settings.reconstruction.build(num_classes * settings.class_dim, image_shape)

    def forward(
        self,
        images: Float[Tensor, "batch channels height width"],
        labels: Int[Tensor, " batch"] | None,
        generator: torch.Generator,
    ) -> Outputs:
        """Return the lengths of the class capsules and images drawn from one of them each."""
        routed = self.capsules(self.primary(self.convolution(images)), generator)
        couplings = couplings_of({"capsules": routed})
        outputs = Outputs(routed.activations, None, None, routed.poses, couplings)
        if self.decoder is None:
            return outputs
        drawn = routed.activations.argmax(dim=1) if labels is None else labels
        return outputs._replace(reconstructions=self.decoder(keep_class(routed.poses, drawn)))

    def penalty(
        self, outputs: Outputs, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, ""]:
        """Return the weighted error of the reconstructions, zero without a decoder."""
        if outputs.reconstructions is None:
            return images.new_zeros(())
        return self.reconstruction.penalty(outputs.reconstructions, images)
