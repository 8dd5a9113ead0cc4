"""Layers of capsules as maps: channel `type * pose + p` is element p of the pose of a type."""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.functional import squash
from capsmodel.functional.grid_routing import grid_routing
from capsmodel.initialised import InitialisedModule, set_glorot, set_keras_normal
from capsmodel.layers.convolution import Window

GridVotes = Literal["true", "scrambled"]


class SquashedConvolution(InitialisedModule):
    """A convolution without bias whose channels are read as poses and squashed; no routing.

    Source: Rajasegaran and others 2019, arXiv:1904.09546, and the layer "Conv2DCaps" of their
    released code.
    Difference: that code divides by the root of the squared length plus 1e-7.

    Example:
        >>> import torch
        >>> layer = SquashedConvolution(in_channels=16, out_types=4, pose=8, stride=2)
        >>> layer(torch.rand(2, 16, 6, 6)).shape
        torch.Size([2, 32, 3, 3])
    """

    def __init__(
        self, in_channels: int, out_types: int, pose: int, kernel_size: int = 3, *, stride: int = 1
    ) -> None:
        """Take channels of the maps, types and length of the poses, and the window.

        Args:
            in_channels: Channels of the maps that come in.
            out_types: Types of capsules.
            pose: Length of their poses.
            kernel_size: Side of the window, padded as TensorFlow pads "same".
            stride: Its step.
        """
        super().__init__()
        self.out_types, self.pose = out_types, pose
        self.window = Window.of(kernel_size, stride, "same")
        self.weight = nn.Parameter(
            torch.empty(out_types * pose, in_channels, kernel_size, kernel_size)
        )

    def initialise(self, generator: torch.Generator | None) -> None:
        """Draw the weights evenly, between the bounds that Keras takes in the code.

        There a kernel has six axes, for which Keras takes the root of its size as both fans. With
        the fans of a convolution, poses vanish within a few layers.
        """
        fan = self.weight.numel() ** 0.5
        set_glorot(self.weight, fan, fan, generator)

    def forward(
        self, maps: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch capsules out_height out_width"]:
        """Return the maps of the squashed poses."""
        features = F.conv2d(self.window.padded(maps), self.weight, stride=self.window.stride)
        poses = features.unflatten(1, (self.out_types, self.pose)).movedim(2, -1)
        return squash(poses).movedim(-1, 2).flatten(1, 2)


class RoutedGrid(InitialisedModule):
    """Capsules of all types and places compete for each type of children: "3-D routing".

    The votes of all types of children are made by the same kernel.

    Source: Rajasegaran and others 2019, arXiv:1904.09546, section 3.2.
    Difference: none with true votes. Their released code reads the children's memory in another
    order than they lie there, so that types, elements of poses and places are mixed: "scrambled".

    Attributes:
        weight: The kernel, [out_types * pose, in_pose, kernel_size, kernel_size].
        bias: Added to the sums of votes, [out_types, pose].

    Example:
        >>> import torch
        >>> layer = RoutedGrid(in_types=4, in_pose=8, out_types=3, pose=6)
        >>> layer(torch.rand(2, 32, 5, 5)).shape
        torch.Size([2, 18, 5, 5])
    """

    def __init__(
        self,
        in_types: int,
        in_pose: int,
        out_types: int,
        pose: int,
        *,
        kernel_size: int = 3,
        iterations: int = 3,
        votes: GridVotes = "true",
    ) -> None:
        """Take types and poses of children and parents, the window's odd side, and the rounds.

        Args:
            in_types: Types of children.
            in_pose: Length of their poses.
            out_types: Types of parents.
            pose: Length of their poses.
            kernel_size: Side of the window, odd, so that the maps keep their size.
            iterations: Rounds of routing.
            votes: Whether a vote is made of the pose of a child, "true", or "scrambled".
        """
        super().__init__()
        self.in_types, self.in_pose = in_types, in_pose
        self.iterations, self.is_scrambled = iterations, votes == "scrambled"
        self.weight = nn.Parameter(torch.empty(out_types * pose, in_pose, kernel_size, kernel_size))
        self.bias = nn.Parameter(torch.empty(out_types, pose))

    def initialise(self, generator: torch.Generator | None) -> None:
        """Draw the kernel truncated normally with variance 2 / fan-in; the bias starts at 0.1."""
        set_keras_normal(self.weight, self.weight[0].numel(), generator)
        nn.init.constant_(self.bias, 0.1)

    def forward(
        self, maps: Float[Tensor, "batch children height width"]
    ) -> Float[Tensor, "batch parents height width"]:
        """Return the maps of the routed poses."""
        if self.is_scrambled:
            maps = maps.permute(0, 2, 3, 1).reshape(maps.shape)
        by_type = maps.unflatten(1, (self.in_types, self.in_pose)).flatten(0, 1)
        predicted = F.conv2d(by_type, self.weight, padding=self.weight.shape[2] // 2)
        votes = predicted.unflatten(0, (-1, self.in_types)).unflatten(2, tuple(self.bias.shape))
        return grid_routing(votes, self.iterations, bias=self.bias).flatten(1, 2)


class CapsuleCell(InitialisedModule):
    """Four layers of capsule maps: one with stride 2, then two beside one that skips them, added.

    Source: Rajasegaran and others 2019, arXiv:1904.09546, figure 1, and their released code.
    Difference: none.

    Example:
        >>> import torch
        >>> CapsuleCell(in_channels=16, types=4, pose=8)(torch.rand(2, 16, 6, 6)).shape
        torch.Size([2, 32, 3, 3])
    """

    def __init__(
        self, in_channels: int, types: int, pose: int, skip: InitialisedModule | None = None
    ) -> None:
        """Take channels of the maps, types and poses of the capsules, and what skips two layers.

        Args:
            in_channels: Channels of the maps that come in.
            types: Types of capsules in every layer.
            pose: Length of their poses.
            skip: Layer beside the second and third; by default a squashed convolution.
        """
        super().__init__()
        channels = types * pose
        self.first = SquashedConvolution(in_channels, types, pose, stride=2)
        self.skip = skip or SquashedConvolution(channels, types, pose)
        self.second = SquashedConvolution(channels, types, pose)
        self.third = SquashedConvolution(channels, types, pose)

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set the layers."""
        for layer in (self.first, self.skip, self.second, self.third):
            layer.initialise(generator)

    def forward(
        self, maps: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch capsules out_height out_width"]:
        """Return the sum of both ways; its poses are at most 2 long."""
        first = self.first(maps)
        return self.third(self.second(first)) + self.skip(first)
