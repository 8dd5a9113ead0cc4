"""The first capsule network with routing."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

import torch
from jaxtyping import Float, Integer
from pydantic import Field
from torch import Tensor

from capsmodel.chance import stream
from capsmodel.initialised import plain_layers, set_biases, set_truncated
from capsmodel.layers import (
    Capsules,
    CapsuleStack,
    Convolution,
    Padding,
    PrimaryCapsules,
    Window,
)
from capsmodel.layers.primary_capsules import Coupling, Grouping, drop_capsules
from capsmodel.models.base import ChildGrid, Model, Outputs, Size, couplings_of
from capsmodel.models.drawing import DrawingNetwork
from capsmodel.reconstruction import (
    RECONSTRUCTIONS,
    FullyConnectedDecoder,
    NoReconstruction,
    Reconstruction,
)
from capsmodel.routing import ROUTINGS, DynamicRouting, LeakyRouting, Routed, Routing
from capsmodel.search_range import Choices, Floats
from capsmodel.settings.parts import OneOf, later
from capsmodel.squash import SQUASHES, SabourSquash, Squash

_DEVIATION = 0.1  # of the class capsules' matrices


class CapsNet(Model):
    """A convolution, primary capsules, class capsules, and a decoder of their poses.

    The defaults are the paper's network for 28 by 28 grey images: 8,215,568 parameters, of which
    1,411,344 are the decoder's. Profiles: "paper" is the network as printed, "official" the
    authors' released code. That code's network for CIFAR-10 is `CapsNet.official_cifar10()`.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 4 and figure 1.
    Difference: none, but the paper does not state the initial weights. The authors' code has biases
    in the class capsules, divides the primary poses by the number of types, and starts from
    truncated normal weights and biases of 0.1; the paper mentions none of this. It is the profile
    "official".

    Attributes:
        conv_channels: Feature maps of the first convolution.
        conv_kernel: Its kernel in pixels.
        conv_stride: Its stride.
        conv_padding: Zeros around the image, or "same" for as many as keep its size at stride 1.
        batch_norm: Whether its features are normalised over the batch before they are rectified.
        primary_types: Types of primary capsules.
        primary_dim: Length of a primary capsule's pose.
        primary_kernel: Kernel of the primary capsules.
        primary_stride: Their stride.
        primary_padding: Zeros around the feature maps, or "same".
        primary_coupling: What their convolution, without its bias, is divided by: "uniform" by the
            number of types, "leaky" by one more, "none" by nothing.
        primary_squash: Turns their lengths into beliefs.
        primary_grouping: What makes a pose: neighbouring "channels" at one position; or "pixels" as
            they lie in memory, which is a widespread mistake and a control.
        shared_transforms: Whether all primary capsules share one matrix for each class, as in Gu
            and Tresp 2020, arXiv:1911.07968; they also leave out the routing, as "uniform" does.
        dropout: Share of the primary capsules that is dropped whole in training.
        class_dim: Length of a class capsule's pose.
        initialisation: How weights begin: "scaled" draws normally with variance 2 / fan-in before
            a ReLU, 1 / fan-in elsewhere; "truncated" as the authors' code does, truncated normally
            with a deviation of 0.05 in the first convolution and 0.1 elsewhere.
        initial_bias: Initial biases of convolutions and decoder.
        init_scale: Multiplier of the class capsules' initial standard deviation, 0.1.
        routing: How votes of primary capsules become poses of class capsules.
        reconstruction: What the class capsules must encode of the image besides its class.
        hidden_capsules: Numbers of capsules in each layer between the primary and the class
            capsules, as `CapsuleStack`; all are routed alike.
        hidden_dim: Length of their poses.
        hidden_batch_norm: Whether their poses are normalised over the batch.
        hidden_skip: Whether poses are added to those of the next layer with as many.
    """

    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "paper": {},
            "official": {
                "primary_coupling": "uniform",
                "initialisation": "truncated",
                "initial_bias": 0.1,
                "routing.bias": True,
            },
        }
    )

    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    kind: Literal["capsnet"] = "capsnet"
    conv_channels: Annotated[Size, Choices(32, 64, 128, 256)] = 256
    conv_kernel: Size = 9
    conv_stride: Size = 1
    conv_padding: Padding = 0
    batch_norm: Annotated[bool, Choices(False, True)] = False
    primary_types: Annotated[Size, Choices(4, 8, 16, 32)] = 32
    primary_dim: Annotated[Size, Choices(4, 8, 16)] = 8
    primary_kernel: Size = 9
    primary_stride: Size = 2
    primary_padding: Padding = 0
    primary_coupling: Annotated[Coupling, Choices("none", "uniform", "leaky")] = "none"
    primary_squash: Annotated[Squash, OneOf(SQUASHES)] = SabourSquash()
    dropout: Annotated[float, Field(ge=0, lt=1), Floats(0.0, 0.5)] = 0.0
    class_dim: Annotated[Size, Choices(8, 16, 32)] = 16
    initialisation: Annotated[Literal["scaled", "truncated"], Choices("scaled", "truncated")] = (
        "scaled"
    )
    initial_bias: float = 0.0
    init_scale: Annotated[float, Field(gt=0), Floats(0.1, 3.0, log=True)] = 1.0
    routing: Annotated[Routing, OneOf(ROUTINGS)] = DynamicRouting()
    reconstruction: Annotated[Reconstruction, OneOf(RECONSTRUCTIONS)] = FullyConnectedDecoder()
    primary_grouping: Grouping = later("channels")
    shared_transforms: bool = later(False)
    hidden_capsules: tuple[Size, ...] = later(())
    hidden_dim: Size = later(8)
    hidden_batch_norm: bool = later(False)
    hidden_skip: bool = later(False)

    @classmethod
    def official_cifar10(cls) -> "CapsNet":
        """Return the network that the authors' released code trains on CIFAR-10.

        It has 22,476,448 parameters on 24 by 24 pixels in colour. It is the profile "official" but
        for the coupling of the primary capsules, which leak as the routing does.
        """
        return cls(
            conv_padding="same",
            primary_types=64,
            primary_padding="same",
            primary_coupling="leaky",
            initialisation="truncated",
            initial_bias=0.1,
            routing=LeakyRouting(bias=True),
            reconstruction=NoReconstruction(),
        )

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> "CapsuleNetwork":
        """Return the network.

        Raises:
            ValueError: If a kernel is larger than what it looks at.
        """
        return CapsuleNetwork(self, image_shape, num_classes)


class CapsuleNetwork(DrawingNetwork):
    """The module that a `CapsNet` describes."""

    def __init__(
        self, settings: CapsNet, image_shape: tuple[int, int, int], num_classes: int
    ) -> None:
        super().__init__(image_shape, num_classes)
        first = Window.of(settings.conv_kernel, settings.conv_stride, settings.conv_padding)
        second = Window.of(
            settings.primary_kernel, settings.primary_stride, settings.primary_padding
        )
        channels, height, width = image_shape
        rows, columns = (second.positions(first.positions(size)) for size in (height, width))
        self.settings = settings
        self.places = (rows, columns)
        self.reconstruction = settings.reconstruction
        self.convolution = Convolution(
            channels, settings.conv_channels, first, batch_norm=settings.batch_norm
        )
        self.primary = _primary_capsules(settings)
        std = settings.init_scale * _DEVIATION
        self.hidden = CapsuleStack(
            settings.primary_types * rows * columns,
            settings.primary_dim,
            settings.hidden_capsules,
            settings.hidden_dim,
            routing=settings.routing,
            std=std,
            batch_norm=settings.hidden_batch_norm,
            skip=settings.hidden_skip,
        )
        self.capsules = Capsules(
            self.hidden.out_caps,
            self.hidden.out_dim,
            num_classes,
            settings.class_dim,
            routing=settings.routing,
            std=std,
            shared=settings.shared_transforms,
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
        primary = self._dropped(self.primary(self.convolution(images)), generator)
        hidden: list[Routed] = self.hidden(primary, generator, compute=self.recomputable)
        below = hidden[-1] if hidden else primary
        routed = self.recomputable(self.capsules, below, generator=generator)
        layers = {f"hidden.layers.{place}": layer for place, layer in enumerate(hidden)}
        couplings = couplings_of({**layers, "capsules": routed})
        outputs = Outputs(routed.beliefs, None, routed.logits, routed.poses, couplings)
        return self.drawn(outputs, routed.poses, labels)

    def child_grid(self) -> ChildGrid | None:
        """Return the places of the primary capsules; None if the classes have other children."""
        if self.settings.primary_grouping == "pixels" or self.settings.hidden_capsules:
            return None
        return ChildGrid("capsules", self.settings.primary_types, *self.places, is_by_type=True)

    def initialise(self, seed: int) -> None:
        """Set every parameter in place, those of each child from a stream of its own."""
        super().initialise(seed)
        for name, child in self.named_children():
            set_biases(child, self.settings.initial_bias)
            if self.settings.initialisation == "truncated":
                generator = stream(seed, "initialisation", name)
                for layer in plain_layers(child):
                    deviation = 0.05 if child is self.convolution else 0.1
                    set_truncated(layer.weight, deviation, generator)
        if self.settings.initialisation == "truncated":
            for name, child in self.named_children():
                generator = stream(seed, "initialisation", name)
                for capsules in (
                    module for module in child.modules() if isinstance(module, Capsules)
                ):
                    set_truncated(capsules.weight, capsules.std, generator)

    def _dropped(
        self, primary: Float[Tensor, "batch in_caps pose"], generator: torch.Generator | None
    ) -> Float[Tensor, "batch in_caps pose"]:
        """Return the capsules, in training without a share of them.

        Where lengths are read as activations, which are at most 1, the others are not raised.
        """
        if not self.training or self.settings.dropout == 0:
            return primary
        reads_activations = self.settings.routing.reads_activations
        return drop_capsules(
            primary, self.settings.dropout, generator, are_raised=not reads_activations
        )


def _primary_capsules(settings: CapsNet) -> PrimaryCapsules:
    return PrimaryCapsules(
        settings.conv_channels,
        settings.primary_types,
        settings.primary_dim,
        settings.primary_kernel,
        stride=settings.primary_stride,
        padding=settings.primary_padding,
        squash=settings.primary_squash,
        coupling=settings.primary_coupling,
        grouping=settings.primary_grouping,
    )
