"""A capsule network with few parameters: one routing step over sixteen primary capsules."""

from typing import Annotated, Any, ClassVar, Literal

import torch
from jaxtyping import Float, Integer
from pydantic import model_validator
from torch import Tensor

from capsmodel.chance import stream
from capsmodel.initialised import set_glorot, set_keras_normal
from capsmodel.layers import Capsules, PrimaryCapsules
from capsmodel.layers.convolution import NormalisedStack, Window
from capsmodel.models.base import ChildGrid, Model, Outputs, Size, Sizes, couplings_of
from capsmodel.models.drawing import DrawingNetwork
from capsmodel.reconstruction import RECONSTRUCTIONS, FullyConnectedDecoder, Reconstruction
from capsmodel.routing import ROUTINGS, Routing, SelfAttentionRouting
from capsmodel.search_range import Choices
from capsmodel.settings.parts import OneOf
from capsmodel.squash import SQUASHES, ExponentialSquash, Squash


class EfficientCapsNet(Model):
    """Four convolutions, primary capsules of one channel each number, class capsules, a decoder.

    Each number of a primary capsule is one channel of the last convolution, seen through a window
    of its own ("depthwise"). The defaults are the paper's network for MNIST: 161,824 parameters and
    1,411,344 of the decoder on 28 by 28 grey pixels. `EfficientCapsNet.multi_mnist()` has 154,656
    on 36 by 36 pixels, `EfficientCapsNet.small_norb()` 151,664 on pairs of 48 by 48 pixels and 5
    classes, both without their decoders.

    Source: Mazzia, Salvetti and Chiaberge 2021, arXiv:2101.12491, section 3 and the released code.
    Difference: lengths are exact, where that code adds 1e-7 to their squares. Every network draws
    by the fully connected decoder; the code's for smallNORB has convolutions.

    Attributes:
        conv_channels: Feature maps of each convolution; those of the last one divide into poses.
        conv_kernel: Their kernels in pixels, one for all or one for each.
        conv_stride: Their strides, likewise.
        norm: What follows each rectified convolution: normalisation over the "batch"; or over each
            "instance", an image by itself, where what is below zero is then not cut but shrunk to
            0.3 of it.
        primary_dim: Length of a primary capsule's pose; the last feature maps divided by it are the
            types.
        primary_kernel: Window of the primary capsules in places.
        primary_stride: Its step.
        primary_squash: Turns their lengths into beliefs.
        class_dim: Length of a class capsule's pose.
        routing: How votes of primary capsules become poses of class capsules.
        reconstruction: What the class capsules must encode of the image besides its class.
    """

    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    needs_naming: ClassVar[bool] = True
    kind: Literal["efficient_capsnet"] = "efficient_capsnet"
    conv_channels: Sizes = (32, 64, 64, 128)
    conv_kernel: Size | Sizes = (5, 3, 3, 3)
    conv_stride: Size | Sizes = (1, 1, 1, 2)
    norm: Annotated[Literal["batch", "instance"], Choices("batch", "instance")] = "batch"
    primary_dim: Annotated[Size, Choices(4, 8, 16)] = 8
    primary_kernel: Size = 9
    primary_stride: Size = 1
    primary_squash: Annotated[Squash, OneOf(SQUASHES)] = ExponentialSquash()
    class_dim: Annotated[Size, Choices(8, 16, 32)] = 16
    routing: Annotated[Routing, OneOf(ROUTINGS)] = SelfAttentionRouting()
    reconstruction: Annotated[Reconstruction, OneOf(RECONSTRUCTIONS)] = FullyConnectedDecoder()

    @classmethod
    def multi_mnist(cls) -> "EfficientCapsNet":
        """Return the network for pairs of digits, 36 by 36 pixels."""
        return cls(conv_stride=(1, 1, 2, 2), primary_kernel=5, primary_stride=2)

    @classmethod
    def small_norb(cls) -> "EfficientCapsNet":
        """Return the network for smallNORB, pairs of 48 by 48 pixels."""
        return cls(
            conv_kernel=(7, 3, 3, 3), conv_stride=(2, 1, 1, 2), norm="instance", primary_kernel=8
        )

    @model_validator(mode="after")
    def _check_sizes(self) -> "EfficientCapsNet":
        for name in ("conv_kernel", "conv_stride"):
            sizes: Any = getattr(self, name)
            if isinstance(sizes, tuple) and len(sizes) != len(self.conv_channels):
                raise ValueError(
                    f"{name} must be one number or one for each of the "
                    f"{len(self.conv_channels)} convolutions, got {len(sizes)}."
                )
        if self.conv_channels[-1] % self.primary_dim:
            raise ValueError(
                f"The last of conv_channels must be a multiple of primary_dim, {self.primary_dim}, "
                f"got {self.conv_channels[-1]}."
            )
        return self

    def build(
        self, image_shape: tuple[int, int, int], num_classes: int
    ) -> "EfficientCapsuleNetwork":
        """Return the network.

        Raises:
            ValueError: If a kernel is larger than what it looks at.
        """
        return EfficientCapsuleNetwork(self, image_shape, num_classes)


class EfficientCapsuleNetwork(DrawingNetwork):
    """The module that an `EfficientCapsNet` describes."""

    def __init__(
        self, settings: EfficientCapsNet, image_shape: tuple[int, int, int], num_classes: int
    ) -> None:
        super().__init__(image_shape, num_classes)
        channels, height, width = image_shape
        self.reconstruction = settings.reconstruction
        self.convolutions = NormalisedStack(
            (channels, *settings.conv_channels),
            settings.conv_kernel,
            settings.conv_stride,
            norm=settings.norm,
        )
        window = Window(settings.primary_kernel, settings.primary_stride)
        rows, columns = (
            window.positions(self.convolutions.positions(size)) for size in (height, width)
        )
        self.places = (rows, columns)
        self.types = settings.conv_channels[-1] // settings.primary_dim
        self.primary = PrimaryCapsules(
            settings.conv_channels[-1],
            self.types,
            settings.primary_dim,
            settings.primary_kernel,
            stride=settings.primary_stride,
            squash=settings.primary_squash,
            depthwise=True,
        )
        self.capsules = Capsules(
            self.types * rows * columns,
            settings.primary_dim,
            num_classes,
            settings.class_dim,
            routing=settings.routing,
        )
        self.decoder = settings.reconstruction.build(num_classes * settings.class_dim, image_shape)

    def forward(
        self,
        images: Float[Tensor, "batch channels height width"],
        labels: Integer[Tensor, "batch *several"] | None = None,
        generator: torch.Generator | None = None,
    ) -> Outputs:
        """Return the lengths of the class capsules and images drawn from one of them each."""
        self.check_images(images)
        primary = self.primary(self.convolutions(images))
        routed = self.recomputable(self.capsules, primary, generator=generator)
        couplings = couplings_of({"capsules": routed})
        outputs = Outputs(routed.beliefs, None, routed.logits, routed.poses, couplings)
        return self.drawn(outputs, routed.poses, labels)

    def initialise(self, seed: int) -> None:
        """Set every parameter in place; the capsules' as Keras draws them in the released code."""
        super().initialise(seed)
        weight = self.primary.convolution.weight
        generator = stream(seed, "initialisation", "primary")
        set_glorot(weight, weight[0].numel(), weight.numel(), generator)
        matrices = self.capsules.weight
        set_keras_normal(
            matrices,
            matrices.numel() // self.capsules.out_shape[1],
            stream(seed, "initialisation", "capsules"),
        )

    def child_grid(self) -> ChildGrid | None:
        """Return the places of the primary capsules."""
        return ChildGrid("capsules", self.types, *self.places, is_by_type=True)
