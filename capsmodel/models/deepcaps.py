"""A deep capsule network: cells of capsule maps with skips, the last of them routed."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

import torch
from jaxtyping import Float, Integer
from pydantic import Field, field_validator
from torch import Tensor

from capsmodel.chance import stream
from capsmodel.initialised import set_glorot
from capsmodel.layers import Capsules
from capsmodel.layers.capsule_maps import CapsuleCell, GridVotes, RoutedGrid
from capsmodel.layers.convolution import NormalisedStack
from capsmodel.models.base import Model, Outputs, Size, couplings_of
from capsmodel.models.drawing import DrawingNetwork
from capsmodel.reconstruction import RECONSTRUCTIONS, NoReconstruction, Reconstruction
from capsmodel.routing import ROUTINGS, DynamicRouting, Routing
from capsmodel.routing.base import BiasedRouter
from capsmodel.search_range import Choices, Ints
from capsmodel.settings.parts import OneOf


class DeepCaps(Model):
    """A convolution, four cells of capsule maps, and class capsules that see the last two cells.

    Each cell halves height and width. In the last one, routing over all types and places stands
    where the others have a convolution that skips two layers. The defaults have 13,359,424
    parameters on 64 by 64 pixels in colour, without a decoder.

    Source: Rajasegaran and others 2019, arXiv:1904.09546, and their released code.
    Difference: none in the profile "paper" but for the code's 1e-7 in its squash. The profile
    "official" reads the children of the routed maps in the code's order, see `RoutedGrid`. The
    code's decoder draws from the pose of one class by transposed convolutions; here the others can
    be chosen.

    Attributes:
        conv_channels: Feature maps of the first convolution.
        types: Types of capsules in each cell.
        poses: Length of the poses in each cell.
        grid_iterations: Rounds of the routing over types and places.
        grid_votes: Whether votes of that routing are "true", or "scrambled" as in the code.
        class_dim: Length of a class capsule's pose.
        routing: How votes of the capsules of the last two cells become class capsules.
        reconstruction: What the class capsules must encode of the image besides its class.
    """

    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"paper": {}, "official": {"grid_votes": "scrambled"}}
    )
    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    needs_naming: ClassVar[bool] = True
    kind: Literal["deepcaps"] = "deepcaps"
    conv_channels: Annotated[Size, Choices(32, 64, 128)] = 128
    types: Annotated[Size, Choices(8, 16, 32)] = 32
    poses: Annotated[tuple[Size, ...], Field(min_length=2)] = (4, 8, 8, 8)
    grid_iterations: Annotated[int, Field(ge=1, le=100), Ints(1, 5)] = 3
    grid_votes: GridVotes = "true"
    class_dim: Annotated[Size, Choices(8, 16, 32)] = 32
    routing: Annotated[Routing, OneOf(ROUTINGS)] = DynamicRouting(bias=True)
    reconstruction: Annotated[Reconstruction, OneOf(RECONSTRUCTIONS)] = NoReconstruction()

    @field_validator("poses")
    @classmethod
    def _check_poses(cls, poses: tuple[int, ...]) -> tuple[int, ...]:
        if poses[-2] != poses[-1]:
            raise ValueError(
                f"the last two of poses must be equal, got {poses[-2]} and {poses[-1]}: the class "
                f"capsules see both cells."
            )
        return poses

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> "DeepCapsuleNetwork":
        """Return the network."""
        return DeepCapsuleNetwork(self, image_shape, num_classes)


class DeepCapsuleNetwork(DrawingNetwork):
    """The module that a `DeepCaps` describes."""

    def __init__(
        self, settings: DeepCaps, image_shape: tuple[int, int, int], num_classes: int
    ) -> None:
        super().__init__(image_shape, num_classes)
        channels, height, width = image_shape
        types, poses = settings.types, settings.poses
        self.types, self.pose = types, poses[-1]
        self.reconstruction = settings.reconstruction
        self.convolution = NormalisedStack((channels, settings.conv_channels), 3, padding=1)
        before, num_children = settings.conv_channels, 0
        for number, pose in enumerate(poses, 1):
            is_last = number == len(poses)
            skip = RoutedGrid(
                types,
                pose,
                types,
                pose,
                iterations=settings.grid_iterations,
                votes=settings.grid_votes,
            )
            self.add_module(
                f"cell{number}", CapsuleCell(before, types, pose, skip if is_last else None)
            )
            before = types * pose
            height, width = -(-height // 2), -(-width // 2)
            if number >= len(poses) - 1:
                num_children += types * height * width
        self.num_cells = len(poses)
        self.capsules = Capsules(
            num_children, self.pose, num_classes, settings.class_dim, routing=settings.routing
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
        maps = self.convolution(images)
        last: list[Tensor] = []
        for number in range(1, self.num_cells + 1):
            maps = self.get_submodule(f"cell{number}")(maps)
            last = [maps, *last[:1]]
        children = torch.cat([self._as_children(features) for features in last], dim=1)
        routed = self.recomputable(self.capsules, children, generator=generator)
        couplings = couplings_of({"capsules": routed})
        outputs = Outputs(routed.beliefs, None, routed.logits, routed.poses, couplings)
        return self.drawn(outputs, routed.poses, labels)

    def initialise(self, seed: int) -> None:
        """Set every parameter in place; the class capsules' as Keras draws them in the code."""
        super().initialise(seed)
        generator = stream(seed, "initialisation", "capsules")
        capsules, (out_caps, out_dim) = self.capsules, self.capsules.out_shape
        in_caps, in_dim, _ = capsules.weight.shape
        pairs = in_caps * out_caps
        set_glorot(capsules.weight, pairs * out_dim, pairs * in_dim, generator)
        if isinstance(capsules.router, BiasedRouter) and capsules.router.bias is not None:
            set_glorot(capsules.router.bias, out_caps, out_dim, generator)

    def _as_children(
        self, maps: Float[Tensor, "batch capsules height width"]
    ) -> Float[Tensor, "batch in_caps pose"]:
        poses = maps.unflatten(1, (self.types, self.pose))
        return poses.movedim(2, -1).flatten(1, 3)
