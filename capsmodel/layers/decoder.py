"""The decoder: images drawn from poses."""

from itertools import pairwise
from math import prod
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.initialised import InitialisedModule
from capsmodel.layers.convolution import set_weights


class Decoder(InitialisedModule):
    """Linear layers with ReLU between them and a sigmoid at the end."""

    def __init__(
        self, num_values: int, hidden: tuple[int, ...], image_shape: tuple[int, int, int]
    ) -> None:
        super().__init__()
        self.image_shape = image_shape
        sizes = (num_values, *hidden, prod(image_shape))
        self.layers = nn.ModuleList(nn.Linear(size, after) for size, after in pairwise(sizes))

    def initialise(self, generator: torch.Generator | None) -> None:
        """Draw the weights normally with variance 2 / fan-in, 1 / fan-in before the sigmoid."""
        for layer in self.layers:
            gain = 1.0 if layer is self.layers[-1] else 2.0
            set_weights(cast(nn.Linear, layer), generator, gain)

    def forward(
        self, poses: Float[Tensor, "batch values"]
    ) -> Float[Tensor, "batch channels height width"]:
        """Return images with values in [0, 1]."""
        values = poses
        for layer in self.layers[:-1]:
            values = F.relu(layer(values))
        return torch.sigmoid(self.layers[-1](values)).view(-1, *self.image_shape)
