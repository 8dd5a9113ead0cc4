"""Heinsen's network for smallNORB, with any routing."""

import os
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from capsmodel.functional.images import with_coordinates
from capsmodel.layers import (
    Backbone,
    CapsuleGrid,
    ConvCapsules,
    MatrixStart,
    PreNormConvolution,
    PreNormPrimaryCapsules,
    Window,
)
from capsmodel.layers.conv_capsules import pose_shape
from capsmodel.models.base import Model, Network, Outputs, Size, Sizes, couplings_of
from capsmodel.models.heinsen_weights import released_weights
from capsmodel.routing import ROUTINGS, HeinsenRouting, Routing
from capsmodel.routing.inverted_attention import InvertedAttentionRouter
from capsmodel.search_range import Choices
from capsmodel.settings.parts import OneOf

_KERNEL = 3


class HeinsenNet(Model):
    """Convolutions of images with coordinates, primary capsules, parts and class capsules.

    The defaults are the paper's network: 271,688 parameters on pairs of images with 5 classes, for
    images of any size. All primary capsules of 96 by 96 pixels, 64 types at 9 by 9 places, vote for
    64 parts by the same matrices; the parts vote for the classes. Every vote has a learned bias.
    Poses are square matrices. With a routing of vectors, such as dynamic routing, a primary pose is
    squashed and its length is the activation. Self-routing learns matrices of each primary capsule,
    so that its size depends on that of the images.

    `HeinsenNetwork.load_released` sets the weights that the author has released.

    Source: Heinsen 2019, arXiv:1911.00792, section 4.1, and the released code.
    Difference: none in the network. Where activations do not depend on votes, as in self-routing,
    class capsules have no poses.

    Attributes:
        channels: Feature maps of each convolution.
        strides: Steps of the convolutions, whose kernels are 3 pixels wide.
        types: Types of primary capsules.
        parts: Capsules between the primary and the class capsules; as many as types in the paper.
        pose_size: Numbers of a pose.
        routing: How votes become capsules, in both layers.
    """

    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    needs_naming: ClassVar[bool] = True
    kind: Literal["heinsen_net"] = "heinsen_net"
    channels: Annotated[Size, Choices(16, 32, 64)] = 64
    strides: Sizes = (1, 2, 1, 2, 1, 2)
    types: Annotated[Size, Choices(16, 32, 64)] = 64
    parts: Annotated[Size, Choices(16, 32, 64)] = 64
    pose_size: Annotated[Size, Choices(4, 9, 16)] = 16
    routing: Annotated[Routing, OneOf(ROUTINGS)] = HeinsenRouting()

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> "HeinsenNetwork":
        """Return the network.

        Raises:
            ValueError: If a kernel is larger than what it looks at, or a pose is not square.
        """
        return HeinsenNetwork(self, image_shape, num_classes)

    def features(self, in_channels: int) -> Backbone:
        """Return the backbone for images with this number of channels."""
        return Backbone(
            PreNormConvolution(
                self.channels if place else in_channels, self.channels, Window(_KERNEL, stride)
            )
            for place, stride in enumerate(self.strides)
        )

    def part_capsules(self, places: tuple[int, int]) -> ConvCapsules:
        """Return the parts above the primary capsules of some places, which share matrices."""
        return ConvCapsules(
            self.types,
            self.parts,
            places,
            "all",
            routing=self.routing,
            pose_dim=self.pose_size,
            start=self._start(),
            bias=True,
            one_matrix=True,
        )

    def class_capsules(self, num_classes: int) -> ConvCapsules:
        """Return the class capsules above the parts."""
        return ConvCapsules(
            self.parts,
            num_classes,
            (1, 1),
            1,
            routing=self.routing,
            pose_dim=self.pose_size,
            start=self._start(),
            bias=True,
            with_poses=self.routing.reads_votes,
        )

    def _start(self) -> MatrixStart:
        _, side = pose_shape("matrix", self.pose_size)
        return MatrixStart(1 / side, at_identity=False, is_truncated=False)


class HeinsenNetwork(Network):
    """The module that a `HeinsenNet` describes."""

    def __init__(
        self, settings: HeinsenNet, image_shape: tuple[int, int, int], num_classes: int
    ) -> None:
        super().__init__(image_shape, num_classes)
        channels, height, width = image_shape
        self.settings = settings
        self.backbone = settings.features(channels + 2)
        self.primary = PreNormPrimaryCapsules(
            settings.channels,
            settings.types,
            settings.pose_size,
            with_activations=settings.routing.reads_activations,
        )
        self.parts = settings.part_capsules(
            (self.backbone.positions(height), self.backbone.positions(width))
        )
        if isinstance(self.parts.router, InvertedAttentionRouter):
            self.parts.router.drop_logits()
        self.classes = settings.class_capsules(num_classes)

    def forward(
        self,
        images: Float[Tensor, "batch channels height width"],
        labels: Integer[Tensor, "batch *several"] | None = None,
        generator: torch.Generator | None = None,
    ) -> Outputs:
        """Return the beliefs of the class capsules."""
        self.check_images(images)
        primary: CapsuleGrid = self.primary(self.backbone(with_coordinates(images)))
        parts = self.recomputable(self.parts, primary, generator=generator)
        classes = self.recomputable(self.classes, self.parts.grid(parts), generator=generator)
        poses = classes.poses if classes.poses.shape[-1] else None
        couplings = couplings_of({"parts": parts, "classes": classes})
        return Outputs(classes.beliefs, None, classes.logits, poses, couplings)

    def load_released(self, path: str | os.PathLike[str]) -> None:
        """Set all weights to those of a file that the released code's network was saved in.

        That is a state dict of its `SmallNORBClassifier`, as `torch.save` writes it. The released
        one fits `HeinsenNet().build((2, 96, 96), 5)` and images with values in [0, 1]. Nothing in
        the file is run. If it is refused, the network is as it was.

        Args:
            path: The file.

        Raises:
            ValueError: If the routing is not Heinsen's, or the file is not such a state dict or
                does not fit the network.
            OSError: If the file cannot be read.
        """
        routing = self.settings.routing
        if not isinstance(routing, HeinsenRouting):
            raise ValueError(
                f"The released weights are of a network with the routing 'heinsen', got "
                f"'{routing.kind}': build one of HeinsenNet()."
            )
        self.load_state_dict(released_weights(path, self.state_dict()))
