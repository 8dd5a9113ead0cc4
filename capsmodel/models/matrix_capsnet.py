"""Matrix capsules: capsules at every place, routed to the classes by EM."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, cast

import torch
from jaxtyping import Float, Integer
from pydantic import Field
from torch import Tensor

from capsmodel.chance import stream
from capsmodel.initialised import set_biases, set_glorot, set_truncated
from capsmodel.layers.capsule_grid import (
    CapsuleNorm,
    GridPrimaryCapsules,
    PrimaryStart,
    drop_capsules,
)
from capsmodel.layers.conv_capsules import (
    ConvCapsules,
    Coordinates,
    MatrixStart,
    PoseKind,
    coordinate_offsets,
    pose_shape,
)
from capsmodel.layers.convolution import Convolution, Window
from capsmodel.models.base import ChildGrid, Model, Outputs, Size, couplings_of
from capsmodel.models.drawing import DrawingNetwork
from capsmodel.reconstruction import RECONSTRUCTIONS, NoReconstruction, Reconstruction
from capsmodel.routing import ROUTINGS, EMRouting, Routed, Routing, VariationalBayesRouting
from capsmodel.search_range import Choices, Floats
from capsmodel.settings.parts import OneOf, later

_EDGE = 1e-6  # nearer to 0 or 1 activations in single precision say little of their logit


class MatrixCapsNet(Model):
    """A convolution, primary capsules, one or two layers of convolutional capsules, the classes.

    The defaults are the paper's larger network: 316,394 parameters on 32 by 32 grey pixels with 5
    classes, 317,194 on stereo pairs. Its smaller one is `conv_channels=64, primary_types=8,
    first_types=16, second_types=16`: 67,154 and 68,754. The paper calls the four A, B, C and D.

    `MatrixCapsNet.variational_bayes()` is the network of the paper on variational-Bayes routing:
    68,714 parameters on stereo pairs of 32 by 32 pixels with 5 classes. Its coordinates are those
    that the paper speaks of; with `coordinates="constant"` it is the network of the released code.
    `MatrixCapsNet.small_variational_bayes()`, with the class capsules directly above the primary
    ones, has 206,154. That code's loss is `CrossEntropy(scale=1.0)`, of the activations.

    With a routing of vectors, such as dynamic routing, primary capsules have no activation of
    their own: a pose is squashed and its length is the activation. Matrices about the identity and
    coordinates make sums of many votes long, so that with the defaults its classes start saturated,
    with beliefs above 0.98: `CapsNet` is the network for these routings.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", section 4, figure 1;
    Ribeiro, Leontidis and Kollias 2020, arXiv:1905.11455, and their released code.
    Difference: the paper of 2018 does not state the initial weights; see `initialisation`. Profile
    "official" is what the authors' released code does; "normalised" is the paper's network with
    the routing of Gritzman 2019, arXiv:1907.00652, not that author's network. Where `capsule_norm`
    normalises the logits of routed activations, they are read back from these, and cut at 13.8.

    Attributes:
        conv_channels: Feature maps of the convolution, A.
        conv_kernel: Its kernel in pixels.
        conv_stride: Its stride.
        conv_bias: Whether it has biases.
        primary_types: Types of primary capsules, B.
        primary_kernel: Their window, in places of the convolution's features.
        primary_stride: Its step.
        primary_bias: Whether their poses and logits have biases.
        primary_shift: Amount subtracted from the logits of their activations.
        first_types: Types of the first convolutional capsules, C; 0 leaves them out.
        first_kernel: Their window, in places of the primary capsules.
        first_stride: Its step.
        second_types: Types of the second convolutional capsules, D; 0 leaves them out.
        second_kernel: Their window, in places of the first ones.
        second_stride: Its step.
        pose_kind: Whether poses are matrices, or vectors with a full matrix for each vote.
        pose_size: Numbers of a pose.
        routing: How votes become capsules, in every layer.
        shared_class_matrices: Whether the votes for the classes have the same matrices at all
            places; if not, each place has its own.
        capsule_norm: Whether poses and logits of all capsules are normalised over the batch, those
            of each type together, see `CapsuleNorm`; those of primary capsules with a learned scale
            and shift. Routed capsules whose lengths are their activations are not. The classes'
            logits vary less and less at first, which running statistics follow late: validation
            may stay at chance for some hundred steps, though the network learns.
        coordinates: What is added to the votes for the classes to encode their place.
        initialisation: How weights begin: "identity" draws matrices normally about the identity
            with a deviation of 0.3, the others with variance 2 / fan-in before the ReLU, 1 / fan-in
            elsewhere; "truncated" draws all truncated normally about zero, as the authors' code
            does, with deviations of 0.05 (convolution), 0.5 and for the last types 3 (primary
            capsules, see `PrimaryStart`), 0.3 (capsules) and 0.01 (classes); "even" draws all
            evenly about zero, as the code of Ribeiro and others does, with variance 2 / fan-in
            (convolution) or 2 / (fan-in + fan-out), a child or parent counting for its whole pose.
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
    conv_bias: bool = later(True)
    primary_types: Annotated[Size, Choices(4, 8, 16, 32)] = 32
    primary_kernel: Size = later(1)
    primary_stride: Size = later(1)
    primary_bias: bool = True
    primary_shift: float = 0.0
    first_types: Annotated[int, Field(ge=0), Choices(4, 8, 16, 32)] = 32
    first_kernel: Size = 3
    first_stride: Size = 2
    second_types: Annotated[int, Field(ge=0), Choices(4, 8, 16, 32)] = 32
    second_kernel: Size = 3
    second_stride: Size = 1
    pose_kind: Annotated[PoseKind, Choices("matrix", "vector")] = "matrix"
    pose_size: Annotated[Size, Choices(4, 9, 16)] = 16
    routing: Annotated[Routing, OneOf(ROUTINGS)] = EMRouting()
    shared_class_matrices: bool = later(True)
    capsule_norm: bool = later(False)
    coordinates: Annotated[Coordinates, Choices("none", "paper", "official")] = "paper"
    initialisation: Annotated[
        Literal["identity", "truncated", "even"], Choices("identity", "truncated")
    ] = "identity"
    initial_bias: float = 0.0
    init_scale: Annotated[float, Field(gt=0), Floats(0.1, 10, log=True)] = 1.0
    batch_norm: Annotated[bool, Choices(False, True)] = False
    dropout: Annotated[float, Field(ge=0, lt=1), Floats(0.0, 0.5)] = 0.0
    reconstruction: Annotated[Reconstruction, OneOf(RECONSTRUCTIONS)] = NoReconstruction()

    @classmethod
    def variational_bayes(cls, **changes: Any) -> "MatrixCapsNet":
        """Return the network of Ribeiro, Leontidis and Kollias 2020, with changes."""
        settings: dict[str, Any] = {
            "conv_channels": 64,
            "conv_bias": False,
            "batch_norm": True,
            "primary_types": 8,
            "primary_bias": False,
            "first_types": 16,
            "second_types": 16,
            "routing": VariationalBayesRouting(),
            "capsule_norm": True,
            "coordinates": "tenths",
            "initialisation": "even",
        }
        return cls(**settings | changes)

    @classmethod
    def small_variational_bayes(cls, **changes: Any) -> "MatrixCapsNet":
        """Return their network of one layer of capsules above the primary ones, with changes."""
        settings: dict[str, Any] = {
            "primary_types": 16,
            "primary_kernel": 3,
            "primary_stride": 2,
            "first_types": 0,
            "second_types": 0,
            "shared_class_matrices": False,
            "coordinates": "none",
        }
        return cls.variational_bayes(**settings | changes)

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> "MatrixCapsuleNetwork":
        """Return the network.

        Raises:
            ValueError: If a kernel is larger than what it looks at, a matrix pose is not square,
                or the routing cannot take the poses.
        """
        return MatrixCapsuleNetwork(self, image_shape, num_classes)

    @property
    def primary_window(self) -> Window:
        """The window of the primary capsules."""
        return Window(self.primary_kernel, self.primary_stride)

    @property
    def hidden_layers(self) -> dict[str, tuple[int, Window]]:
        """Types and windows of the layers of convolutional capsules by name, the lowest first."""
        layers = {
            "first": (self.first_types, Window(self.first_kernel, self.first_stride)),
            "second": (self.second_types, Window(self.second_kernel, self.second_stride)),
        }
        return {name: layer for name, layer in layers.items() if layer[0]}

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows of the convolution and of all capsules below the classes."""
        first = Window(self.conv_kernel, self.conv_stride)
        hidden = (window for _, window in self.hidden_layers.values())
        return (first, self.primary_window, *hidden)

    @property
    def primary_start(self) -> PrimaryStart:
        """Initial values of the primary capsules."""
        is_truncated, is_even = (self.initialisation == kind for kind in ("truncated", "even"))
        return PrimaryStart(is_truncated, self.primary_bias, self.primary_shift, is_even)

    def primary_capsules(self) -> GridPrimaryCapsules:
        """Return the primary capsules."""
        return GridPrimaryCapsules(
            self.conv_channels,
            self.primary_types,
            self.pose_size,
            self.primary_start,
            with_activations=self.routing.reads_activations,
            window=self.primary_window,
            type_norm=self.capsule_norm,
        )

    def matrix_start(self, children: int, parents: int, *, of_classes: bool) -> MatrixStart:
        """Return the initial values of a layer's matrices.

        Args:
            children: Matrices that a parent of one type has.
            parents: Matrices that a child of one type has.
            of_classes: Whether parents are classes.
        """
        if self.initialisation == "even":
            deviation = (2 / ((children + parents) * self.pose_size)) ** 0.5
            return MatrixStart(deviation * self.init_scale, at_identity=False, is_even=True)
        at_identity = self.initialisation == "identity"
        deviation = 0.01 if of_classes and not at_identity else 0.3
        return MatrixStart(deviation * self.init_scale, at_identity)

    def hidden_capsules(
        self, in_types: int, out_types: int, places: tuple[int, int], window: Window
    ) -> ConvCapsules:
        """Return a layer of convolutional capsules above some places."""
        seen = window.kernel_size**2
        return ConvCapsules(
            in_types,
            out_types,
            places,
            window.kernel_size,
            routing=self.routing,
            stride=window.stride,
            pose_dim=self.pose_size,
            pose_kind=self.pose_kind,
            start=self.matrix_start(in_types * seen, out_types * seen, of_classes=False),
        )

    def class_capsules(
        self, in_types: int, num_classes: int, places: tuple[int, int], size: tuple[int, int]
    ) -> ConvCapsules:
        """Return the class capsules above some places of an image of a size in pixels."""
        matrices = 1 if self.shared_class_matrices else places[0] * places[1]
        return ConvCapsules(
            in_types,
            num_classes,
            places,
            "all",
            routing=self.routing,
            pose_dim=self.pose_size,
            pose_kind=self.pose_kind,
            start=self.matrix_start(in_types * matrices, num_classes * matrices, of_classes=True),
            offsets=self.offsets(size),
            shared=self.shared_class_matrices,
        )

    def offsets(self, size: tuple[int, int]) -> Float[Tensor, "places pose"] | None:
        """Return the offsets that encode the place in the votes for the classes."""
        pose = pose_shape(self.pose_kind, self.pose_size)
        return coordinate_offsets(self.coordinates, self.windows, size, pose)


class MatrixCapsuleNetwork(DrawingNetwork):
    """The module that a `MatrixCapsNet` describes."""

    def __init__(
        self, settings: MatrixCapsNet, image_shape: tuple[int, int, int], num_classes: int
    ) -> None:
        super().__init__(image_shape, num_classes)
        channels, height, width = image_shape
        self.settings = settings
        self.reconstruction = settings.reconstruction
        window = settings.windows[0]
        self.convolution = Convolution(
            channels,
            settings.conv_channels,
            window,
            batch_norm=settings.batch_norm,
            bias=settings.conv_bias,
        )
        self.primary = settings.primary_capsules()
        above = settings.primary_window
        places = (
            above.positions(window.positions(height)),
            above.positions(window.positions(width)),
        )
        types = settings.primary_types
        self._names = tuple(settings.hidden_layers)
        for name, (out_types, hidden) in settings.hidden_layers.items():
            layer = settings.hidden_capsules(types, out_types, places, hidden)
            self.add_module(name, layer)
            self._add_norm(name, out_types)
            types, places = out_types, layer.out_size()
        self.last_types, self.last_places = types, places
        self.classes = settings.class_capsules(types, num_classes, places, (height, width))
        self._add_norm("classes", num_classes)
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
            capsules = self.recomputable(layer, grid, generator=generator)
            routed[name] = self._normalised(name, capsules)
            grid = layer.grid(routed[name])
        classes = self.recomputable(self.classes, grid, generator=generator)
        routed["classes"] = classes = self._normalised("classes", classes)
        couplings = couplings_of(routed)
        outputs = Outputs(classes.beliefs, None, classes.logits, classes.poses, couplings)
        return self.drawn(outputs, classes.poses, labels)

    @property
    def layers(self) -> dict[str, ConvCapsules]:
        """The convolutional capsules by name, first to last; a replaced one is the new one."""
        return {name: cast(ConvCapsules, self.get_submodule(name)) for name in self._names}

    def _add_norm(self, name: str, types: int) -> None:
        if self.settings.capsule_norm and self.settings.routing.reads_activations:
            self.add_module(f"{name}_norm", CapsuleNorm(types))

    def _normalised(self, name: str, routed: Routed) -> Routed:
        """Return routed capsules, normalised over the batch where the settings say so."""
        norm = getattr(self, f"{name}_norm", None)
        if norm is None:
            return routed
        scores = routed.logits
        logits = routed.activations.logit(_EDGE) if scores is None else scores
        poses, logits = norm(routed.poses, logits)
        normalised = routed._replace(poses=poses, activations=logits.sigmoid())
        return normalised if scores is None else normalised._replace(scores=logits)

    def child_grid(self) -> ChildGrid:
        """Return the places of the last convolutional capsules."""
        return ChildGrid("classes", self.last_types, *self.last_places, is_by_type=False)

    def initialise(self, seed: int) -> None:
        """Set every parameter in place, those of each child from a stream of its own."""
        super().initialise(seed)
        if self.settings.conv_bias:
            set_biases(self.convolution, self.settings.initial_bias)
        convolution = self.convolution.convolution.weight
        if self.settings.initialisation == "truncated":
            set_truncated(convolution, 0.05, stream(seed, "initialisation", "convolution"))
        elif self.settings.initialisation == "even":
            generator = stream(seed, "initialisation", "convolution")
            set_glorot(convolution, convolution[0].numel(), 0, generator)
