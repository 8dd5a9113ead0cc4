"""Capsules at every place of a grid, and the first ones of a network."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.functional import lengths, squash
from capsmodel.initialised import InitialisedModule
from capsmodel.layers.truncated_normal import set_truncated


class CapsuleGrid(NamedTuple):
    """Capsules of several types at each place.

    Attributes:
        poses: Matrices are written row after row.
        activations: How surely each is there, in [0, 1].
    """

    poses: Float[Tensor, "batch places types pose"]
    activations: Float[Tensor, "batch places types"]


class PrimaryStart(NamedTuple):
    """How primary capsules with activations begin.

    Attributes:
        pose_deviation: Of the weights of the poses, drawn truncated normally; None draws them
            normally with variance 1 / fan-in.
        activation_deviation: Of the weights of the activations' logits, likewise.
        has_bias: Whether poses and logits have biases, which start at zero.
        shift: What the logits are lowered by.
    """

    pose_deviation: float | None = None
    activation_deviation: float | None = None
    has_bias: bool = True
    shift: float = 0.0


class GridPrimaryCapsules(InitialisedModule):
    """Every place holds one capsule of each type, made linearly of the features there.

    Channel `type * pose + p` is element p of the type's pose; the logits of the activations stand
    behind the poses. Without activations the poses are squashed and their lengths are the
    activations.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", section 4.
    Difference: none. The authors' code has no bias and lowers the logits by 1.

    Attributes:
        convolution: Of one pixel: from features to poses and logits.
    """

    def __init__(
        self,
        in_channels: int,
        types: int,
        pose: int,
        start: PrimaryStart,
        *,
        with_activations: bool = True,
    ) -> None:
        super().__init__()
        self.types = types
        self.pose = pose
        self.start = start
        self.with_activations = with_activations
        out_channels = types * (pose + with_activations)
        self.convolution = nn.Conv2d(in_channels, out_channels, 1, bias=start.has_bias)

    def initialise(self, generator: torch.Generator) -> None:
        """Draw the weights about zero; the bias starts at zero."""
        start, num_poses = self.start, self.types * self.pose
        usual = self.convolution.in_channels**-0.5
        weight = self.convolution.weight.data
        for part, deviation in (
            (weight[:num_poses], start.pose_deviation),
            (weight[num_poses:], start.activation_deviation),
        ):
            if deviation is None:
                nn.init.normal_(part, std=usual, generator=generator)
            else:
                set_truncated(part, deviation, generator)
        if self.convolution.bias is not None:
            nn.init.zeros_(self.convolution.bias)

    def forward(self, features: Float[Tensor, "batch channels height width"]) -> CapsuleGrid:
        """Return the capsules of every place, row after row."""
        values = self.convolution(features).flatten(2).transpose(1, 2)
        num_poses = self.types * self.pose
        poses = values[:, :, :num_poses].unflatten(2, (self.types, self.pose))
        if self.with_activations:
            return CapsuleGrid(poses, torch.sigmoid(values[:, :, num_poses:] - self.start.shift))
        poses = squash(poses)
        return CapsuleGrid(poses, lengths(poses))


def drop_capsules(grid: CapsuleGrid, rate: float, generator: torch.Generator) -> CapsuleGrid:
    """Return the capsules with a share of them not there: pose and activation zero.

    What is left is not raised: an activation is a probability.
    """
    draws = torch.rand(grid.activations.shape, generator=generator)
    kept = (draws >= rate).to(grid.poses.device, grid.poses.dtype)
    return CapsuleGrid(grid.poses * kept.unsqueeze(-1), grid.activations * kept)
