"""Matrix capsules: capsules at every place, routed to the classes by EM."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, cast

import torch
from jaxtyping import Float, Integer
from pydantic import Field
from torch import Tensor

from capsmodel.chance import stream
from capsmodel.initialised import plain_layers, set_biases, set_truncated
from capsmodel.layers.capsule_grid import GridPrimaryCapsules, PrimaryStart, drop_capsules
from capsmodel.layers.conv_capsules import (
    ConvCapsules,
    Coordinates,
    MatrixStart,
    PoseKind,
    coordinate_offsets,
    pose_shape,
)
from capsmodel.layers.convolution import Convolution, Window
from capsmodel.models.base import ChildGrid, Model, Outputs, couplings_of
from capsmodel.models.drawing import DrawingNetwork
from capsmodel.reconstruction import RECONSTRUCTIONS, NoReconstruction, Reconstruction
from capsmodel.routing import ROUTINGS, EMRouting, Routed, Routing
from capsmodel.search_range import Choices, Floats
from capsmodel.settings.parts import OneOf

Size = Annotated[int, Field(ge=1)]


class MatrixCapsNet(Model):
    """A convolution, primary capsules, one or two layers of convolutional capsules, the classes.

    The defaults are the paper's larger network: 316,394 parameters on 32 by 32 grey pixels with 5
    classes, 317,194 on stereo pairs. Its smaller one is `conv_channels=64, primary_types=8,
    first_types=16, second_types=16`: 67,154 and 68,754. The paper calls the four A, B, C and D.

    With a routing of vectors, such as dynamic routing, primary capsules have no activation of
    their own: a pose is squashed and its length is the activation.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", section 4, figure 1.
    Difference: the paper does not state the initial weights; see `initialisation`. Profile
    "official" is what the authors' released code does; "normalised" is the paper's network with
    the routing of Gritzman 2019, arXiv:1907.00652, not that author's network.

    Attributes:
        conv_channels: Feature maps of the convolution, A.
        conv_kernel: Its kernel in pixels.
        conv_stride: Its stride.
        primary_types: Types of primary capsules, B.
        primary_bias: Whether their poses and logits have biases.
        primary_shift: Amount subtracted from the logits of their activations.
        first_types: Types of the first convolutional capsules, C.
        first_kernel: Their window, in places of the primary capsules.
        first_stride: Its step.
        second_types: Types of the second convolutional capsules, D; 0 leaves them out.
        second_kernel: Their window, in places of the first ones.
        second_stride: Its step.
        pose_kind: Whether poses are matrices, or vectors with a full matrix for each vote.
        pose_size: Numbers of a pose.
        routing: How votes become capsules, in every layer.
        coordinates: What is added to the votes for the classes to encode their place.
        initialisation: How weights begin: "identity" draws matrices normally about the identity
            with a deviation of 0.3, the others with variance 2 / fan-in before the ReLU, 1 / fan-in
            elsewhere; "truncated" draws all truncated normally about zero, as the authors' code
            does, with deviations of 0.05 (convolution), 0.5 and for the last types 3 (primary
            capsules, see `PrimaryStart`), 0.3 (capsules) and 0.01 (classes).
        initial_bias: Initial biases of the convolution.
        init_scale: Multiplier of the matrices' initial standard deviations.
        batch_norm: Whether the convolution's features are normalised over the batch.
        dropout: Share of the primary capsules that is dropped in training.
        reconstruction: What the class capsules must encode of the image besides its class.
    """

    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "paper": {
                "primary_bias": True,
                "primary_shift": 0.0,
                "coordinates": "paper",
                "initialisation": "identity",
                "initial_bias": 0.0,
                "routing.profile": "paper",
            },
            "normalised": {"profile": "paper", "routing.profile": "normalised"},
            "official": {
                "primary_bias": False,
                "primary_shift": 1.0,
                "coordinates": "official",
                "initialisation": "truncated",
                "initial_bias": 0.1,
                "routing.profile": "official",
            },
        }
    )
    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    kind: Literal["matrix_capsnet"] = "matrix_capsnet"
    conv_channels: Annotated[Size, Choices(16, 32, 64)] = 32
    conv_kernel: Size = 5
    conv_stride: Size = 2
    primary_types: Annotated[Size, Choices(4, 8, 16, 32)] = 32
    primary_bias: bool = True
    primary_shift: float = 0.0
    first_types: Annotated[Size, Choices(4, 8, 16, 32)] = 32
    first_kernel: Size = 3
    first_stride: Size = 2
    second_types: Annotated[int, Field(ge=0), Choices(4, 8, 16, 32)] = 32
    second_kernel: Size = 3
    second_stride: Size = 1
    pose_kind: Annotated[PoseKind, Choices("matrix", "vector")] = "matrix"
    pose_size: Annotated[Size, Choices(4, 9, 16)] = 16
    routing: Annotated[Routing, OneOf(ROUTINGS)] = EMRouting()
    coordinates: Annotated[Coordinates, Choices("none", "paper", "official")] = "paper"
    initialisation: Annotated[
        Literal["identity", "truncated"], Choices("identity", "truncated")
    ] = "identity"
    initial_bias: float = 0.0
    init_scale: Annotated[float, Field(gt=0), Floats(0.1, 10, log=True)] = 1.0
    batch_norm: Annotated[bool, Choices(False, True)] = False
    dropout: Annotated[float, Field(ge=0, lt=1), Floats(0.0, 0.5)] = 0.0
    reconstruction: Annotated[Reconstruction, OneOf(RECONSTRUCTIONS)] = NoReconstruction()

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> "MatrixCapsuleNetwork":
        """Return the network.

        Raises:
            ValueError: If a kernel is larger than what it looks at, a matrix pose is not square,
                or the routing cannot take the poses.
        """
        return MatrixCapsuleNetwork(self, image_shape, num_classes)

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows of the convolution and of the convolutional capsules."""
        first = Window(self.conv_kernel, self.conv_stride, 0)
        second = Window(self.first_kernel, self.first_stride, 0)
        third = Window(self.second_kernel, self.second_stride, 0)
        return (first, second, third) if self.second_types else (first, second)

    @property
    def primary_start(self) -> PrimaryStart:
        """Initial values of the primary capsules."""
        is_truncated = self.initialisation == "truncated"
        return PrimaryStart(is_truncated, self.primary_bias, self.primary_shift)

    def matrix_start(self, *, of_classes: bool) -> MatrixStart:
        """Return the initial values of a layer's matrices."""
        at_identity = self.initialisation == "identity"
        deviation = 0.01 if of_classes and not at_identity else 0.3
        return MatrixStart(deviation * self.init_scale, at_identity)

    def hidden_capsules(
        self, in_types: int, out_types: int, places: tuple[int, int], window: Window
    ) -> ConvCapsules:
        """Return a layer of convolutional capsules above some places."""
        return ConvCapsules(
            in_types,
            out_types,
            places,
            window.kernel,
            routing=self.routing,
            stride=window.stride,
            pose_dim=self.pose_size,
            pose_kind=self.pose_kind,
            start=self.matrix_start(of_classes=False),
        )

    def class_capsules(
        self, in_types: int, num_classes: int, places: tuple[int, int], size: tuple[int, int]
    ) -> ConvCapsules:
        """Return the class capsules above some places of an image of a size in pixels."""
        return ConvCapsules(
            in_types,
            num_classes,
            places,
            "all",
            routing=self.routing,
            pose_dim=self.pose_size,
            pose_kind=self.pose_kind,
            start=self.matrix_start(of_classes=True),
            offsets=self.offsets(size),
        )

    def offsets(self, size: tuple[int, int]) -> Float[Tensor, "places pose"] | None:
        """Return what is added to the votes for the classes to encode their place."""
        pose = pose_shape(self.pose_kind, self.pose_size)
        return coordinate_offsets(self.coordinates, self.windows, size, pose)


class MatrixCapsuleNetwork(DrawingNetwork):
    """The module that a `MatrixCapsNet` describes."""

    def __init__(
        self, settings: MatrixCapsNet, image_shape: tuple[int, int, int], num_classes: int
    ) -> None:
        super().__init__(image_shape, num_classes)
        channels, height, width = image_shape
        first, *others = settings.windows
        rows, columns = first.positions(height), first.positions(width)
        self.settings = settings
        self.reconstruction = settings.reconstruction
        self.convolution = Convolution(
            channels, settings.conv_channels, first, batch_norm=settings.batch_norm
        )
        self.primary = GridPrimaryCapsules(
            settings.conv_channels,
            settings.primary_types,
            settings.pose_size,
            settings.primary_start,
            with_activations=settings.routing.reads_activations,
        )
        types = (settings.primary_types, settings.first_types, settings.second_types)
        self._names = ("first", "second")[: len(others)]
        for place, (name, window) in enumerate(zip(self._names, others, strict=True)):
            size = (rows, columns)
            layer = settings.hidden_capsules(types[place], types[place + 1], size, window)
            self.add_module(name, layer)
            rows, columns = layer.neighbourhood.out_height, layer.neighbourhood.out_width
        self.last_types, self.last_places = types[len(others)], (rows, columns)
        self.classes = settings.class_capsules(
            self.last_types, num_classes, self.last_places, (height, width)
        )
        self.decoder = settings.reconstruction.build(num_classes * settings.pose_size, image_shape)

    def forward(
        self,
        images: Float[Tensor, "batch channels height width"],
        labels: Integer[Tensor, "batch *several"] | None = None,
        generator: torch.Generator | None = None,
    ) -> Outputs:
        """Return the activations of the class capsules, and images drawn from one of them each."""
        self.check_images(images)
        grid = self.primary(self.convolution(images))
        if self.training and self.settings.dropout > 0:
            grid = drop_capsules(grid, self.settings.dropout, generator)
        routed: dict[str, Routed] = {}
        for name, layer in self.layers.items():
            routed[name] = self.recomputable(layer, grid, generator=generator)
            grid = layer.grid(routed[name])
        routed["classes"] = classes = self.recomputable(self.classes, grid, generator=generator)
        couplings = couplings_of(routed)
        outputs = Outputs(classes.beliefs, None, classes.logits, classes.poses, couplings)
        return self.drawn(outputs, classes.poses, labels)

    @property
    def layers(self) -> dict[str, ConvCapsules]:
        """The convolutional capsules by name, first to last; a replaced one is the new one."""
        return {name: cast(ConvCapsules, self.get_submodule(name)) for name in self._names}

    def child_grid(self) -> ChildGrid:
        """Return the places of the last convolutional capsules."""
        return ChildGrid("classes", self.last_types, *self.last_places, is_by_type=False)

    def initialise(self, seed: int) -> None:
        """Set every parameter in place, those of each child from a stream of its own."""
        super().initialise(seed)
        set_biases(self.convolution, self.settings.initial_bias)
        if self.settings.initialisation == "truncated":
            (convolution,) = plain_layers(self.convolution)
            set_truncated(convolution.weight, 0.05, stream(seed, "initialisation", "convolution"))
