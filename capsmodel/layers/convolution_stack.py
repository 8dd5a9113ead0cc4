"""Convolutions one after the other, as plain convolutional networks have them."""

from itertools import pairwise

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.initialised import InitialisedModule
from capsmodel.layers.convolution import Convolution, Window


class ConvolutionStack(InitialisedModule):
    """Convolutions with bias and ReLU, each followed by max-pooling.

    The features keep height and width, but for the pooling.
    """

    def __init__(
        self, channels: tuple[int, ...], kernel: int | tuple[int, ...], pooling: int
    ) -> None:
        """Take the channels of the images and of each convolution, odd kernels, the pooling.

        A single kernel is that of all convolutions.
        """
        super().__init__()
        kernels = (kernel,) * (len(channels) - 1) if isinstance(kernel, int) else kernel
        self.pooling = Window(pooling, stride=pooling, padding=0)
        self.layers = nn.ModuleList(
            Convolution(before, after, Window(side, stride=1, padding=side // 2))
            for (before, after), side in zip(pairwise(channels), kernels, strict=True)
        )

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set the convolutions, the first one first."""
        for layer in self.layers:
            assert isinstance(layer, Convolution)
            layer.initialise(generator)

    def positions(self, size: int) -> int:
        """Return how many places the last features have along an axis of the images.

        Raises:
            ValueError: If nothing is left to pool.
        """
        for _ in self.layers:
            size = self.pooling.positions(size)
        return size

    def forward(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch features out_height out_width"]:
        """Return the last features."""
        features = images
        for layer in self.layers:
            features = layer(features)
            if self.pooling.kernel > 1:
                features = F.max_pool2d(features, self.pooling.kernel)
        return features
