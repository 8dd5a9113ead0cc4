"""The first capsules: a convolution whose channels are read as poses."""

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional import squash
from capsmodel.initialised import InitialisedModule
from capsmodel.layers.convolution import Window, set_weights


class PrimaryCapsules(InitialisedModule):
    """Every position of a convolution's output holds one capsule of each type.

    Channel `type * pose + p` is element p of the type's pose. Capsules are ordered by type, then
    row, then column.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 4.
    Difference: none. The authors' code divides by the number of types before squashing.
    """

    def __init__(self, in_channels: int, types: int, pose: int, window: Window) -> None:
        super().__init__()
        self.types = types
        self.pose = pose
        self.convolution = window.convolution(in_channels, types * pose)

    def initialise(self, generator: torch.Generator) -> None:
        """Draw the weights normally with variance 1 / fan-in; the bias starts at zero."""
        set_weights(self.convolution, generator, gain=1.0)

    def forward(
        self, features: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch in_caps pose"]:
        """Return the squashed poses, all of one type before all of the next."""
        maps = self.convolution(features)
        poses = maps.view(len(maps), self.types, self.pose, -1).transpose(2, 3)
        return squash(poses.flatten(1, 2))
