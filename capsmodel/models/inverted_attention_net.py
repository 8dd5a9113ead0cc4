"""The networks of the paper on inverted attention, with any routing that takes grids."""

from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

import torch
from jaxtyping import Float, Integer
from pydantic import Field, model_validator
from torch import Tensor

from capsmodel.layers import (
    Backbone,
    CapsuleGrid,
    ConvCapsules,
    Convolution,
    GridPrimaryCapsules,
    MatrixStart,
    PrimaryStart,
    ResidualBlock,
    Window,
)
from capsmodel.layers.capsules import reported
from capsmodel.layers.conv_capsules import Patches, pose_shape
from capsmodel.models.base import ChildGrid, Model, Network, Outputs, Size, couplings_of
from capsmodel.routing import ROUTINGS, InvertedAttentionRouting, Routed, Routing
from capsmodel.routing.inverted_attention import InvertedAttentionRouter
from capsmodel.search_range import Choices
from capsmodel.settings.parts import OneOf, later

_WIDENING = 2  # of the last feature maps


class InvertedAttentionNet(Model):
    """A backbone, then primary capsules, two convolutional layers and class capsules.

    The defaults are the paper's network for CIFAR-10, 1,828,817 parameters on 32 by 32 pixels in
    colour with 10 classes; `InvertedAttentionNet.cifar100()` is that for CIFAR-100, 2,799,629 with
    100 classes. Poses are square matrices. Where updates are concurrent, all layers are first
    computed with equal shares, one after the other; then, in each later round, every layer is
    computed anew from the poses that the layer below and itself had before the round.

    Source: Tsai, Srivastava, Goh and Salakhutdinov 2020, arXiv:2002.04764, and their released code.
    Difference: profile "paper" has true patches, as one of the two releases; profile "official"
    mixes numbers of poses at several places, as the other one first did. Matrices are drawn
    truncated normally, with the code's deviation. With other routings primary poses are not
    layer-normalised, but squashed or given activations.

    Attributes:
        backbone: What makes the features: residual blocks ("resnet"), or one convolution
            ("simple").
        channels: Feature maps of the first convolution; the last ones are twice as many.
        types: Types of primary and convolutional capsules.
        pose_size: Numbers of a pose.
        hidden_capsules: Capsules of a layer between the last convolutional one and the classes; 0
            for none.
        update: Whether the layers are updated together ("concurrent"), which is for inverted
            attention alone, or one after the other ("sequential").
        routing: How votes become capsules, in every layer.
        patches: Whether convolutional capsules see true patches, or "scrambled" ones, see
            `ConvCapsules`.
    """

    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"paper": {}, "official": {"patches": "scrambled"}}
    )
    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    needs_naming: ClassVar[bool] = True
    kind: Literal["inverted_attention_net"] = "inverted_attention_net"
    backbone: Annotated[Literal["resnet", "simple"], Choices("resnet", "simple")] = "resnet"
    channels: Annotated[Size, Choices(16, 32, 64)] = 64
    types: Annotated[Size, Choices(8, 16, 32)] = 32
    pose_size: Annotated[Size, Choices(4, 9, 16, 36)] = 16
    hidden_capsules: Annotated[int, Field(ge=0)] = 0
    update: Literal["concurrent", "sequential"] = "concurrent"
    routing: Annotated[Routing, OneOf(ROUTINGS)] = InvertedAttentionRouting()
    patches: Patches = later("true")

    @classmethod
    def cifar100(cls) -> "InvertedAttentionNet":
        """Return the paper's network for CIFAR-100."""
        return cls(pose_size=36, hidden_capsules=20)

    @model_validator(mode="after")
    def _check_update(self) -> "InvertedAttentionNet":
        if self.update == "concurrent" and not isinstance(self.routing, InvertedAttentionRouting):
            raise ValueError(
                f"Only the routing 'inverted_attention' is updated in all layers together, got "
                f"'{self.routing.kind}': set update='sequential'."
            )
        return self

    def build(
        self, image_shape: tuple[int, int, int], num_classes: int
    ) -> "InvertedAttentionNetwork":
        """Return the network.

        Raises:
            ValueError: If a kernel is larger than what it looks at, a pose is not square, or the
                routing takes no grids.
        """
        return InvertedAttentionNetwork(self, image_shape, num_classes)

    def features(self, in_channels: int) -> Backbone:
        """Return what makes the features of images."""
        if self.backbone == "simple":
            out_channels = _WIDENING * self.channels
            return Backbone([Convolution(in_channels, out_channels, Window(3, 2, 1))])
        return Backbone(self._residual(in_channels))

    def _residual(self, in_channels: int) -> Iterator[Convolution | ResidualBlock]:
        before = self.channels
        yield Convolution(in_channels, before, Window(3, 1, 1), batch_norm=True, bias=False)
        for widening, stride in ((1, 1), (1, 1), (1, 1), (2, 2), (2, 1), (2, 1), (2, 1)):
            after = widening * self.channels
            yield ResidualBlock(before, after, stride, shortcut="projected")
            before = after

    def capsules(
        self,
        in_types: int,
        out_types: int,
        size: tuple[int, int] = (1, 1),
        *,
        kernel_size: int = 1,
        stride: int = 1,
        with_poses: bool = True,
    ) -> ConvCapsules:
        """Return a layer of capsules, by default of one place that sees all children."""
        side = pose_shape("matrix", self.pose_size)[1]
        deviation = (out_types / (side * in_types * kernel_size**2)) ** 0.5
        return ConvCapsules(
            in_types,
            out_types,
            size,
            kernel_size,
            stride=stride,
            routing=self.routing,
            pose_dim=self.pose_size,
            start=MatrixStart(deviation, at_identity=False),
            with_poses=with_poses,
            patches=self.patches,
        )


class InvertedAttentionNetwork(Network):
    """The module that an `InvertedAttentionNet` describes."""

    def __init__(
        self, settings: InvertedAttentionNet, image_shape: tuple[int, int, int], num_classes: int
    ) -> None:
        super().__init__(image_shape, num_classes)
        self.settings = settings
        channels, height, width = image_shape
        types = settings.types
        self.backbone = settings.features(channels)
        places = (self.backbone.positions(height), self.backbone.positions(width))
        self.primary = GridPrimaryCapsules(
            _WIDENING * settings.channels,
            types,
            settings.pose_size,
            PrimaryStart(has_bias=False),
            with_activations=settings.routing.reads_activations,
            pose_norm=isinstance(settings.routing, InvertedAttentionRouting),
        )
        self.first = settings.capsules(types, types, places, kernel_size=3, stride=2)
        self.second = settings.capsules(types, types, self.first.out_size(), kernel_size=3)
        self.last_places = self.second.out_size()
        below = types * self.last_places[0] * self.last_places[1]
        hidden = settings.hidden_capsules
        self.hidden = settings.capsules(below, hidden) if hidden else None
        for layer in (self.first, self.second, self.hidden):
            if layer and isinstance(layer.router, InvertedAttentionRouter):
                layer.router.drop_logits()
        self.classes = settings.capsules(
            hidden or below, num_classes, with_poses=settings.routing.reads_votes
        )

    @property
    def layers(self) -> dict[str, ConvCapsules]:
        """Its layers of capsules above the primary ones, the lowest first."""
        hidden = {"hidden": self.hidden} if self.hidden else {}
        return {"first": self.first, "second": self.second, **hidden, "classes": self.classes}

    def forward(
        self,
        images: Float[Tensor, "batch channels height width"],
        labels: Integer[Tensor, "batch *several"] | None = None,
        generator: torch.Generator | None = None,
    ) -> Outputs:
        """Return the beliefs of the class capsules."""
        self.check_images(images)
        primary = self.primary(self.backbone(images))
        routed = self._concurrent(primary) if self._rounds else self._routed(primary, generator)
        classes = routed["classes"]
        poses = classes.poses if classes.poses.shape[-1] else None
        return Outputs(classes.beliefs, None, classes.logits, poses, couplings_of(routed))

    def child_grid(self) -> ChildGrid | None:
        """Return the places of the capsules below the classes; None below a hidden layer."""
        if self.settings.hidden_capsules:
            return None
        return ChildGrid("classes", self.settings.types, *self.last_places, is_by_type=False)

    @property
    def _rounds(self) -> int:
        """Rounds of concurrent updates; 0 where layers are updated one after the other."""
        routing = self.settings.routing
        if self.settings.update == "sequential":
            return 0
        assert isinstance(routing, InvertedAttentionRouting)
        return routing.iterations

    def _routed(self, primary: CapsuleGrid, generator: torch.Generator | None) -> dict[str, Routed]:
        """Return each layer's capsules, routed one layer after the other."""
        grid = primary
        routed: dict[str, Routed] = {}
        for name, layer in self.layers.items():
            children = _children(layer, grid)
            routed[name] = self.recomputable(layer, children, generator=generator)
            grid = layer.grid(routed[name])
        return routed

    def _concurrent(self, primary: CapsuleGrid) -> dict[str, Routed]:
        """Return each layer's capsules, all layers updated together after the first round."""
        routed: dict[str, Routed] = {}
        for _ in range(self._rounds):
            routed = self._updated(primary, routed)
        return routed

    def _updated(self, primary: CapsuleGrid, before: Mapping[str, Routed]) -> dict[str, Routed]:
        """Return all layers after a round, from those before it or, in the first, each other."""
        grid = primary
        routed: dict[str, Routed] = {}
        for name, layer in self.layers.items():
            previous = before[name].poses if before else None
            children = _children(layer, grid)
            update = partial(_round, layer)
            routed[name] = self.recomputable(update, children, previous, generator=None)
            grid = layer.grid((before or routed)[name])
        return routed


def _children(layer: ConvCapsules, below: CapsuleGrid) -> CapsuleGrid:
    """Return what a layer sees: all capsules as those of one place, unless it sees windows."""
    if layer.kernel_size != 1:
        return below
    return CapsuleGrid(*(values.flatten(1, 2).unsqueeze(1) for values in below))


def _round(
    layer: ConvCapsules,
    children: CapsuleGrid,
    previous: Float[Tensor, "sites out_caps pose"] | None,
    _: torch.Generator | None,
) -> Routed:
    """Return a layer after one round; inverted attention draws nothing."""
    assert isinstance(layer.router, InvertedAttentionRouter)
    return reported(layer, layer.router.after(previous, layer.votes(children), 1))
