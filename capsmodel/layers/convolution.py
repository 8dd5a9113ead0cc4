"""Convolutions, alone and in stacks, with batch normalisation, and the sizes of their outputs."""

from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from capsmodel.initialised import InitialisedModule, set_keras_normal

Padding = Annotated[int, Field(ge=0)] | Literal["same"]


class Window(NamedTuple):
    """The window of a convolution: a square of `kernel_size` pixels, moved by `stride`.

    Attributes:
        kernel_size: Its side.
        stride: Its step.
        padding: Zeros on each side.
        is_same: Whether there are instead as many zeros as give every step of `stride` pixels one
            place, the odd one of them behind, as TensorFlow pads.

    Example:
        >>> Window(9, stride=2).positions(28)
        10
    """

    kernel_size: int
    stride: int = 1
    padding: int = 0
    is_same: bool = False

    @classmethod
    def of(cls, kernel_size: int, stride: int, padding: Padding) -> "Window":
        """Return the window of settings, in which padding may be "same"."""
        return (
            cls(kernel_size, stride, 0, True)
            if padding == "same"
            else cls(kernel_size, stride, padding)
        )

    def positions(self, size: int) -> int:
        """Return how many places the window has along an axis of a size.

        Raises:
            ValueError: If the window is larger than the padded axis.
        """
        if self.is_same:
            return -(-size // self.stride)
        room = size + 2 * self.padding - self.kernel_size
        if room < 0:
            raise ValueError(
                f"A kernel of {self.kernel_size} pixels does not fit {size} pixels padded by "
                f"{self.padding} on both sides: choose a kernel of at most "
                f"{size + 2 * self.padding}, more padding, or larger images."
            )
        return room // self.stride + 1

    def convolution(
        self, in_channels: int, out_channels: int, groups: int = 1, *, bias: bool = True
    ) -> nn.Conv2d:
        """Return the convolution of padded images, its weights not yet set."""
        return nn.Conv2d(
            in_channels,
            out_channels,
            self.kernel_size,
            self.stride,
            self.padding,
            groups=groups,
            bias=bias,
        )

    def padded(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels padded_height padded_width"]:
        """Return the images with the zeros that a convolution does not add by itself."""
        if not self.is_same:
            return images
        height, width = images.shape[2:]
        return F.pad(images, self.margins(width) + self.margins(height))  # the last axis first

    def margins(self, size: int) -> tuple[int, int]:
        """Return how many zeros are added before and after an axis of a size."""
        if not self.is_same:
            return self.padding, self.padding
        room = max((self.positions(size) - 1) * self.stride + self.kernel_size - size, 0)
        return room // 2, room - room // 2


class Convolution(InitialisedModule):
    """A convolution with bias and ReLU, and optional batch normalisation between them.

    Example:
        >>> import torch
        >>> Convolution(1, 8, Window(3, padding=1), batch_norm=True)(torch.rand(2, 1, 6, 6)).shape
        torch.Size([2, 8, 6, 6])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        window: Window,
        *,
        batch_norm: bool = False,
        bias: bool = True,
        rectified: bool = True,
    ) -> None:
        super().__init__()
        self.window, self.rectified = window, rectified
        self.convolution = window.convolution(in_channels, out_channels, bias=bias)
        self.norm = BatchNorm(out_channels) if batch_norm else None

    def initialise(self, generator: torch.Generator | None) -> None:
        """Draw the weights normally with variance 2 / fan-in; the bias starts at zero."""
        set_weights(self.convolution, generator, gain=2.0)
        if self.norm is not None:
            self.norm.initialise(generator)

    def forward(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch features out_height out_width"]:
        """Return the feature maps, rectified or not."""
        features = self.convolution(self.window.padded(images))
        features = features if self.norm is None else self.norm(features)
        return F.relu(features) if self.rectified else features


class PreNormConvolution(InitialisedModule):
    """A convolution with bias of maps that are normalised over the batch, and optional swish.

    Swish of x is x * sigmoid(x).

    Source: the released code of Heinsen 2019, arXiv:1911.00792; swish: Ramachandran, Zoph and Le
    2017, arXiv:1710.05941.
    Difference: none.

    Example:
        >>> import torch
        >>> PreNormConvolution(4, 8, Window(3, stride=2))(torch.rand(2, 4, 7, 7)).shape
        torch.Size([2, 8, 3, 3])
    """

    def __init__(
        self, in_channels: int, out_channels: int, window: Window, *, swish: bool = True
    ) -> None:
        super().__init__()
        self.window, self.swish = window, swish
        self.norm = BatchNorm(in_channels)
        self.convolution = window.convolution(in_channels, out_channels)

    def initialise(self, generator: torch.Generator | None) -> None:
        """Draw weights normally with variance 2 / fan-in, biases at zero.

        Without swish both are drawn evenly up to 1 / sqrt(fan-in), as PyTorch does.
        """
        self.norm.initialise(generator)
        if self.swish:
            set_weights(self.convolution, generator, gain=2.0)
            return
        weight, bias = self.convolution.weight, self.convolution.bias
        assert bias is not None
        end = weight[0].numel() ** -0.5
        for values in (weight, bias):
            nn.init.uniform_(values, -end, end, generator=generator)

    def forward(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch features out_height out_width"]:
        """Return the feature maps."""
        features = self.convolution(self.window.padded(self.norm(images)))
        return F.silu(features) if self.swish else features


class ConvolutionStack(InitialisedModule):
    """Convolutions with bias and ReLU, each followed by max-pooling.

    The features keep height and width, but for the pooling.

    Example:
        >>> import torch
        >>> ConvolutionStack((1, 8, 16), 3, pooling=2)(torch.rand(2, 1, 8, 8)).shape
        torch.Size([2, 16, 2, 2])
    """

    def __init__(
        self, channels: tuple[int, ...], kernel_size: int | tuple[int, ...], pooling: int
    ) -> None:
        """Take the channels of the images and of each convolution, odd kernels, the pooling.

        A single kernel is that of all convolutions.
        """
        super().__init__()
        count = len(channels) - 1
        kernels = (kernel_size,) * count if isinstance(kernel_size, int) else kernel_size
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
            if self.pooling.kernel_size > 1:
                features = F.max_pool2d(features, self.pooling.kernel_size)
        return features


class NormalisedStack(InitialisedModule):
    """Convolutions with bias, rectified and then normalised.

    Source: the released code of Mazzia, Salvetti and Chiaberge 2021, arXiv:2101.12491.
    Difference: none.

    Example:
        >>> import torch
        >>> NormalisedStack((1, 8, 16), 3, stride=(1, 2))(torch.rand(2, 1, 8, 8)).shape
        torch.Size([2, 16, 2, 2])
    """

    def __init__(
        self,
        channels: tuple[int, ...],
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] = 1,
        *,
        padding: int = 0,
        norm: Literal["batch", "instance"] = "batch",
    ) -> None:
        """Take the channels of the images and of each convolution, kernels and strides.

        Args:
            channels: Of the images and of each convolution.
            kernel_size: Of all convolutions, or of each.
            stride: Likewise.
            padding: Zeros on each side, of all convolutions.
            norm: Whether maps are normalised over the "batch", or over each "instance", where
                what is below zero is shrunk to 0.3 of it instead of being cut.
        """
        super().__init__()
        count = len(channels) - 1
        kernels = (kernel_size,) * count if isinstance(kernel_size, int) else kernel_size
        strides = (stride,) * count if isinstance(stride, int) else stride
        self.windows = [Window(*sizes, padding) for sizes in zip(kernels, strides, strict=True)]
        self.slope = 0.0 if norm == "batch" else 0.3
        self.convolutions = nn.ModuleList(
            window.convolution(before, after)
            for (before, after), window in zip(pairwise(channels), self.windows, strict=True)
        )
        self.norms = nn.ModuleList(
            BatchNorm(after, momentum=0.01, epsilon=1e-3)
            if norm == "batch"
            else InstanceNorm(after, epsilon=1e-3)
            for after in channels[1:]
        )

    def initialise(self, generator: torch.Generator | None) -> None:
        """Draw weights truncated normally with variance 2 / fan-in; biases start at zero."""
        for layer, norm in zip(self.convolutions, self.norms, strict=True):
            assert isinstance(layer, nn.Conv2d)
            assert isinstance(norm, BatchNorm | InstanceNorm)
            set_keras_normal(layer.weight, layer.weight[0].numel(), generator)
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)
            norm.initialise(generator)

    def positions(self, size: int) -> int:
        """Return how many places the last features have along an axis of the images.

        Raises:
            ValueError: If a window does not fit.
        """
        for window in self.windows:
            size = window.positions(size)
        return size

    def forward(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch features out_height out_width"]:
        """Return the last features."""
        features = images
        for layer, norm in zip(self.convolutions, self.norms, strict=True):
            features = norm(F.leaky_relu(layer(features), self.slope))
        return features


class BatchNorm(InitialisedModule):
    """Each channel is brought to mean 0 and variance 1, then scaled and shifted as is learned.

    Without a learned scale or shift, the scale is 1 or the shift 0.

    Training uses mean and variance of the batch, evaluation the running ones, so that an image is
    then judged by itself. One image with maps of one pixel has no variance: training too judges it
    by the running statistics and leaves them unchanged. PyTorch's own module refuses it, and also
    counts batches, which nothing reads.

    Source: Ioffe and Szegedy 2015, arXiv:1502.03167, algorithms 1 and 2.
    Difference: running statistics stand for those of all training images.
    """

    weight: nn.Parameter | None
    bias: nn.Parameter | None

    def __init__(
        self,
        channels: int,
        *,
        momentum: float = 0.1,
        epsilon: float = 1e-5,
        scale: bool = True,
        shift: bool = True,
    ) -> None:
        """Take the channels of the maps.

        Args:
            channels: Number of maps.
            momentum: Weight of a batch in the running statistics.
            epsilon: Added to the variance.
            scale: Whether a scale is learned.
            shift: Whether a shift is learned.
        """
        super().__init__()
        self.momentum, self.epsilon = momentum, epsilon
        self.weight = nn.Parameter(torch.empty(channels)) if scale else None
        self.bias = nn.Parameter(torch.empty(channels)) if shift else None
        self.running_mean: Tensor
        self.running_variance: Tensor
        self.register_buffer("running_mean", torch.empty(channels))
        self.register_buffer("running_variance", torch.empty(channels))

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set what leaves mean 0 and variance 1 as they are."""
        for value in (self.weight, self.running_variance):
            if value is not None:
                nn.init.ones_(value)
        for value in (self.bias, self.running_mean):
            if value is not None:
                nn.init.zeros_(value)

    def forward(
        self, features: Float[Tensor, "batch channels *places"]
    ) -> Float[Tensor, "batch channels *places"]:
        """Return the normalised maps; in training the running statistics move."""
        has_variance = features.numel() > features.shape[1]
        return F.batch_norm(
            features,
            self.running_mean,
            self.running_variance,
            self.weight,
            self.bias,
            training=self.training and has_variance,
            momentum=self.momentum,
            eps=self.epsilon,
        )


class InstanceNorm(InitialisedModule):
    """Each channel of each image is brought to mean 0 and variance 1, then scaled and shifted.

    Source: Ulyanov, Vedaldi and Lempitsky 2016, arXiv:1607.08022.
    Difference: none. Scale and shift start as TensorFlow's "random_uniform" draws them, as in the
    released code of Mazzia, Salvetti and Chiaberge 2021.
    """

    def __init__(self, channels: int, *, epsilon: float = 1e-5) -> None:
        """Take the channels of the maps, and what is added to the variance."""
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.empty(channels))
        self.bias = nn.Parameter(torch.empty(channels))

    def initialise(self, generator: torch.Generator | None) -> None:
        """Draw scale and shift from -0.05 to 0.05."""
        for value in (self.weight, self.bias):
            nn.init.uniform_(value, -0.05, 0.05, generator=generator)

    def forward(
        self, features: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels height width"]:
        """Return the normalised maps; a map of one pixel becomes its shift."""
        variance, mean = torch.var_mean(features, dim=(2, 3), correction=0, keepdim=True)
        scale = (variance + self.epsilon).rsqrt() * self.weight.view(-1, 1, 1)
        return (features - mean) * scale + self.bias.view(-1, 1, 1)


def set_weights(
    layer: nn.Conv2d | nn.Linear, generator: torch.Generator | None, gain: float
) -> None:
    """Draw a layer's weights normally with variance gain / fan-in; a bias starts at zero.

    Source: He and others 2015, arXiv:1502.01852, equation 10 (gain 2, for ReLU).
    Difference: none.
    """
    fan_in = layer.weight[0].numel()
    nn.init.normal_(layer.weight, std=(gain / fan_in) ** 0.5, generator=generator)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
