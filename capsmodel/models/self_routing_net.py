"""The bodies of the self-routing paper, each with capsules of any routing or a plain head."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, NamedTuple, cast

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from capsmodel.layers import (
    Backbone,
    CapsuleGrid,
    Classifier,
    ConvCapsules,
    Convolution,
    GridPrimaryCapsules,
    MatrixStart,
    PrimaryStart,
    ResidualBlock,
    Window,
)
from capsmodel.layers.capsule_grid import normalised
from capsmodel.layers.conv_capsules import PoseKind, pose_shape
from capsmodel.layers.convolution import BatchNorm
from capsmodel.models.base import ChildGrid, Model, Network, Outputs, Size, couplings_of
from capsmodel.routing import ROUTINGS, Routed, Routing, SelfRouting
from capsmodel.search_range import Choices
from capsmodel.settings.parts import OneOf

BackboneKind = Literal["small", "conv", "resnet20"]
Head = Literal["capsules", "average", "max", "linear"]


class Body(NamedTuple):
    """What is fixed with the backbone.

    Attributes:
        widening: The last feature maps for each of the first convolution.
        primary_kernel: Window of the primary capsules; they are padded by 1.
        first_stride: Step of the first convolutional capsules; that of later ones is 1.
        deviations: Of the matrices of convolutional and of class capsules whose lengths are their
            activations; None for those of other capsules.
    """

    widening: int
    primary_kernel: int
    first_stride: int
    deviations: tuple[float, float] | None


_BODIES: dict[BackboneKind, Body] = {
    "small": Body(widening=1, primary_kernel=5, first_stride=2, deviations=(0.5, 0.05)),
    "conv": Body(widening=8, primary_kernel=3, first_stride=1, deviations=(0.5, 0.1)),
    "resnet20": Body(widening=4, primary_kernel=3, first_stride=2, deviations=None),
}


class SelfRoutingNet(Model):
    """A backbone, then primary, convolutional and class capsules, or a pooling or linear head.

    The defaults are the paper's ResNet-20 with one layer of capsules above the primary ones:
    931,664 parameters on 32 by 32 pixels in colour with 10 classes, 3,187,536 with `depth=2`.
    `SelfRoutingNet.conv_net()` has 858,768; `SelfRoutingNet.small_net()` has 2,445,408 on pairs of
    32 by 32 pixels with 5 classes. EM's networks have matrix poses. With a routing of vectors, such
    as dynamic routing, a primary pose is squashed and its length is the activation.

    Where activations do not depend on votes, as in self-routing, class capsules have no poses.

    Source: Hahn, Pyeon and Kim 2019, "Self-routing capsule networks", and their released code.
    Difference: weights are drawn normally, those of capsules truncated, with the variances of the
    code's uniform ones. Class beliefs of other routings are their own; the code divides those of
    ResNet-20 by their sum. Left out is what never learns there: in ResNet-20 the normalisations of
    dynamic routing at depth 2 (1,024 parameters) and the bias before the linear head's (512). The
    linear head of ResNet-20 at depth 1 fails in the code. Pooling heads see all places at any
    depth.

    Attributes:
        backbone: What makes the features: one convolution of 7 by 7 ("small"), six of 3 by 3
            ("conv"), or 19 in nine residual blocks ("resnet20").
        channels: Feature maps of the first convolution; 256 in the paper's "small" one.
        head: What judges the features: "capsules"; the "average" or the "max" over all places and a
            linear layer; or a normalised convolution in the place of the primary capsules and a
            "linear" layer that sees all its places.
        types: Types of primary and convolutional capsules; 16 in the paper's "small" one.
        pose_kind: Whether poses are matrices, or vectors with a full matrix for each vote.
        pose_size: Numbers of a pose.
        depth: Layers of capsules above the primary ones, the class capsules among them.
        primary_norm: Whether primary poses and activations are normalised over the batch; with
            dynamic routing the paper's "small" one does not.
        routing: How votes become capsules, in every layer.
    """

    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    needs_naming: ClassVar[bool] = True
    kind: Literal["self_routing_net"] = "self_routing_net"
    backbone: Annotated[BackboneKind, Choices("small", "conv", "resnet20")] = "resnet20"
    channels: Annotated[Size, Choices(8, 16, 32)] = 16
    head: Annotated[Head, Choices("capsules", "average", "max", "linear")] = "capsules"
    types: Annotated[Size, Choices(8, 16, 32)] = 32
    pose_kind: Annotated[PoseKind, Choices("matrix", "vector")] = "vector"
    pose_size: Annotated[Size, Choices(4, 9, 16)] = 16
    depth: Annotated[Size, Choices(1, 2, 3)] = 1
    primary_norm: bool = True
    routing: Annotated[Routing, OneOf(ROUTINGS)] = SelfRouting()

    @classmethod
    def conv_net(cls) -> "SelfRoutingNet":
        """Return the paper's network of seven convolutions, the primary capsules' among them."""
        return cls(backbone="conv")

    @classmethod
    def small_net(cls) -> "SelfRoutingNet":
        """Return the paper's network for smallNORB, pairs of 32 by 32 pixels."""
        return cls(backbone="small", channels=256, types=16, depth=2)

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> Network:
        """Return the network.

        Raises:
            ValueError: If a kernel is larger than what it looks at, a matrix pose is not square,
                or the routing takes no grids and depth is above 1.
        """
        if self.head == "capsules":
            return SelfRoutingNetwork(self, image_shape, num_classes)
        return PlainNetwork(self, image_shape, num_classes)

    @property
    def body(self) -> Body:
        """What is fixed with the backbone."""
        return _BODIES[self.backbone]

    def features(self, in_channels: int) -> Backbone:
        """Return what makes the features of images."""
        if self.backbone == "resnet20":
            return Backbone(self._residual(in_channels))
        windows: list[Window] = [Window(7, 2, 1)]
        widths: tuple[int, ...] = (1,)
        if self.backbone == "conv":
            windows = [Window(3, stride, 1) for stride in (1, 2, 1, 2, 1, 2)]
            widths = (1, 2, 2, 4, 4, 8)
        before = [in_channels, *(self.channels * width for width in widths)]
        return Backbone(
            Convolution(before[place], before[place + 1], window, batch_norm=True, bias=False)
            for place, window in enumerate(windows)
        )

    def _residual(self, in_channels: int) -> Iterator[Convolution | ResidualBlock]:
        before = self.channels
        yield Convolution(in_channels, before, Window(3, 1, 1), batch_norm=True, bias=False)
        for after, first_stride in ((before, 1), (2 * before, 2), (4 * before, 2)):
            for stride in (first_stride, 1, 1):
                yield ResidualBlock(before, after, stride)
                before = after

    def strides(self) -> tuple[int, ...]:
        """Return the steps of the convolutional capsules."""
        return (self.body.first_stride, *(1,) * (self.depth - 2))[: self.depth - 1]

    def start(self, out_types: int, *, of_classes: bool) -> MatrixStart:
        """Return the initial values of the matrices of a layer, by its number of parent types."""
        deviations = None if self.routing.reads_activations else self.body.deviations
        if deviations is not None:
            return MatrixStart(deviations[of_classes], at_identity=False)
        _, side = pose_shape(self.pose_kind, self.pose_size)
        return MatrixStart((2 / (out_types * side * side)) ** 0.5, at_identity=False)

    def capsules(
        self, out_types: int, places: tuple[int, int], stride: int | None = None
    ) -> ConvCapsules:
        """Return a layer of capsules above some places; without a stride it sees all of them."""
        sees_all = stride is None
        return ConvCapsules(
            self.types * (places[0] * places[1] if sees_all else 1),
            out_types,
            (1, 1) if sees_all else places,
            1 if sees_all else 3,
            routing=self.routing,
            stride=stride or 1,
            padding=0 if sees_all else 1,
            pose_dim=self.pose_size,
            pose_kind=self.pose_kind,
            start=self.start(out_types, of_classes=sees_all),
            with_poses=self.routing.reads_votes or not sees_all,
        )


class _Undrawn(Network):
    """A network of a backbone and something above it that draws no images."""

    def __init__(
        self, settings: SelfRoutingNet, image_shape: tuple[int, int, int], num_classes: int
    ) -> None:
        super().__init__(image_shape, num_classes)
        channels, height, width = image_shape
        self.settings = settings
        self.backbone = settings.features(channels)
        self.num_features = settings.body.widening * settings.channels
        self.places = (self.backbone.positions(height), self.backbone.positions(width))


class SelfRoutingNetwork(_Undrawn):
    """The module that a `SelfRoutingNet` with capsules describes."""

    def __init__(
        self, settings: SelfRoutingNet, image_shape: tuple[int, int, int], num_classes: int
    ) -> None:
        super().__init__(settings, image_shape, num_classes)
        window = Window(settings.body.primary_kernel, 1, 1)
        self.primary = GridPrimaryCapsules(
            self.num_features,
            settings.types,
            settings.pose_size,
            PrimaryStart(has_bias=False),
            with_activations=settings.routing.reads_activations,
            window=window,
            batch_norm=settings.primary_norm,
        )
        places = (window.positions(self.places[0]), window.positions(self.places[1]))
        self.num_layers = settings.depth - 1
        for number, stride in enumerate(settings.strides(), 1):
            layer = settings.capsules(settings.types, places, stride)
            self.add_module(f"capsules{number}", layer)
            if settings.routing.reads_activations:
                self.add_module(f"norm{number}", BatchNorm(settings.types * settings.pose_size))
            places = layer.out_size()
        self.last_places = places
        self.classes = settings.capsules(num_classes, places)

    def forward(
        self,
        images: Float[Tensor, "batch channels height width"],
        labels: Integer[Tensor, "batch *several"] | None = None,
        generator: torch.Generator | None = None,
    ) -> Outputs:
        """Return the activations of the class capsules."""
        self.check_images(images)
        grid = self.primary(self.backbone(images))
        routed: dict[str, Routed] = {}
        for number in range(1, self.num_layers + 1):
            name = f"capsules{number}"
            layer = cast(ConvCapsules, self.get_submodule(name))
            routed[name] = self.recomputable(layer, grid, generator=generator)
            grid = self._normalised(number, layer.grid(routed[name]))
        seen = CapsuleGrid(*(values.flatten(1, 2).unsqueeze(1) for values in grid))
        routed["classes"] = classes = self.recomputable(self.classes, seen, generator=generator)
        poses = classes.poses if classes.poses.shape[-1] else None
        return Outputs(classes.beliefs, None, classes.logits, poses, couplings_of(routed))

    def child_grid(self) -> ChildGrid:
        """Return the places of the capsules below the classes."""
        return ChildGrid("classes", self.settings.types, *self.last_places, is_by_type=False)

    def _normalised(self, number: int, grid: CapsuleGrid) -> CapsuleGrid:
        """Return the capsules, their poses normalised over the batch unless lengths are beliefs."""
        if not self.settings.routing.reads_activations:
            return grid
        norm = cast(BatchNorm, self.get_submodule(f"norm{number}"))
        poses = normalised(norm, grid.poses.flatten(2))
        return grid._replace(poses=poses.unflatten(2, grid.poses.shape[2:]))


class PlainNetwork(_Undrawn):
    """The module that a `SelfRoutingNet` with a pooling or linear head describes."""

    def __init__(
        self, settings: SelfRoutingNet, image_shape: tuple[int, int, int], num_classes: int
    ) -> None:
        super().__init__(settings, image_shape, num_classes)
        num_values = self.num_features
        if settings.head == "linear":
            stride = settings.body.first_stride if settings.depth > 1 else 1
            window = Window(settings.body.primary_kernel, stride, 1)
            out_channels = settings.types * settings.pose_size
            self.convolution = Convolution(
                num_values, out_channels, window, batch_norm=True, bias=False
            )
            rows, columns = (window.positions(size) for size in self.places)
            num_values = out_channels * rows * columns
        self.classifier = Classifier(num_values, (), num_classes, 0.0)

    def forward(
        self,
        images: Float[Tensor, "batch channels height width"],
        labels: Integer[Tensor, "batch *several"] | None = None,
        generator: torch.Generator | None = None,
    ) -> Outputs:
        """Return the probabilities of the classes."""
        self.check_images(images)
        logits = self.classifier(self._values(self.backbone(images)))
        return Outputs(logits.softmax(dim=1), None, logits)

    def _values(
        self, features: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch values"]:
        if self.settings.head == "linear":
            return self.convolution(features).flatten(1)
        if self.settings.head == "average":
            return features.mean(dim=(2, 3))
        return features.amax(dim=(2, 3))
