"""What stands below the capsules of a deep network: convolutions and residual blocks."""

from collections.abc import Iterable
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.initialised import InitialisedModule
from capsmodel.layers.convolution import Convolution, PreNormConvolution, Window

Shortcut = Literal["padded", "projected"]


class ResidualBlock(InitialisedModule):
    """Two normalised 3 x 3 convolutions; what enters them is added, and the sum is rectified.

    Where channels or places change, what enters is "projected" by a normalised 1 x 1 convolution;
    or every `stride`-th place is taken and channels of zeros are "padded" around it.

    Source: He, Zhang, Ren and Sun 2015, arXiv:1512.03385, figure 2 and options A and B of section
    4.1.
    Difference: channels of zeros stand on both sides, as in the released code of Hahn, Pyeon and
    Kim 2019, not only behind.

    Example:
        >>> import torch
        >>> block = ResidualBlock(in_channels=16, out_channels=32, stride=2)
        >>> block(torch.rand(2, 16, 8, 8)).shape
        torch.Size([2, 32, 4, 4])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        stride: int = 1,
        *,
        shortcut: Shortcut = "padded",
    ) -> None:
        super().__init__()
        self.window = Window(3, stride, 1)
        self.new_channels = out_channels - in_channels
        self.first = Convolution(
            in_channels, out_channels, self.window, batch_norm=True, bias=False
        )
        self.second = Convolution(
            out_channels,
            out_channels,
            Window(3, 1, 1),
            batch_norm=True,
            bias=False,
            rectified=False,
        )
        is_projected = shortcut == "projected" and (stride > 1 or self.new_channels != 0)
        self.projection = (
            Convolution(
                in_channels,
                out_channels,
                Window(1, stride),
                batch_norm=True,
                bias=False,
                rectified=False,
            )
            if is_projected
            else None
        )

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set the convolutions."""
        for layer in (self.first, self.second, self.projection):
            if layer is not None:
                layer.initialise(generator)

    def forward(
        self, maps: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch features out_height out_width"]:
        """Return the rectified sums."""
        return F.relu(self.second(self.first(maps)) + self._skipped(maps))

    def _skipped(self, maps: Tensor) -> Tensor:
        if self.projection is not None:
            return self.projection(maps)
        step, before = self.window.stride, self.new_channels // 2
        behind = self.new_channels - before
        return F.pad(maps[:, :, ::step, ::step], (0, 0, 0, 0, before, behind))


class Backbone(InitialisedModule):
    """Convolutions and residual blocks, one after the other.

    Example:
        >>> import torch
        >>> backbone = Backbone([Convolution(3, 8, Window(3)), ResidualBlock(8, 8)])
        >>> backbone(torch.rand(2, 3, 10, 10)).shape
        torch.Size([2, 8, 8, 8])
    """

    def __init__(self, layers: Iterable[Convolution | PreNormConvolution | ResidualBlock]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set the layers, the first one first."""
        for layer in self.layers:
            assert isinstance(layer, Convolution | PreNormConvolution | ResidualBlock)
            layer.initialise(generator)

    def positions(self, size: int) -> int:
        """Return how many places the last features have along an axis of the images.

        Raises:
            ValueError: If a window does not fit.
        """
        for layer in self.layers:
            assert isinstance(layer, Convolution | PreNormConvolution | ResidualBlock)
            size = layer.window.positions(size)
        return size

    def forward(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch features out_height out_width"]:
        """Return the last features."""
        features = images
        for layer in self.layers:
            features = layer(features)
        return features
