"""The convolution that stands before the capsules, and the sizes of convolutions."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.initialised import InitialisedModule


class Window(NamedTuple):
    """What a convolution looks at: a square of `kernel` pixels, moved by `stride`."""

    kernel: int
    stride: int
    padding: int

    def positions(self, size: int) -> int:
        """Return how many places the window has along an axis of a size.

        Raises:
            ValueError: If the window is larger than the padded axis.
        """
        room = size + 2 * self.padding - self.kernel
        if room < 0:
            raise ValueError(
                f"A kernel of {self.kernel} pixels does not fit {size} pixels padded by "
                f"{self.padding} on both sides: choose a kernel of at most "
                f"{size + 2 * self.padding}, more padding, or larger images."
            )
        return room // self.stride + 1

    def convolution(self, in_channels: int, out_channels: int) -> nn.Conv2d:
        """Return the convolution, with bias, its weights not yet set."""
        return nn.Conv2d(in_channels, out_channels, self.kernel, self.stride, self.padding)


class Convolution(InitialisedModule):
    """A convolution with bias and ReLU."""

    def __init__(self, in_channels: int, out_channels: int, window: Window) -> None:
        super().__init__()
        self.convolution = window.convolution(in_channels, out_channels)

    def initialise(self, generator: torch.Generator) -> None:
        """Draw the weights normally with variance 2 / fan-in; the bias starts at zero."""
        set_weights(self.convolution, generator, gain=2.0)

    def forward(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch features out_height out_width"]:
        """Return the rectified feature maps."""
        return F.relu(self.convolution(images))


def set_weights(layer: nn.Conv2d | nn.Linear, generator: torch.Generator, gain: float) -> None:
    """Draw a layer's weights normally with variance gain / fan-in and set its bias to zero.

    Source: He and others 2015, arXiv:1502.01852, equation 10 (gain 2, for ReLU).
    Difference: none.
    """
    assert layer.bias is not None
    fan_in = layer.weight[0].numel()
    nn.init.normal_(layer.weight, std=(gain / fan_in) ** 0.5, generator=generator)
    nn.init.zeros_(layer.bias)
