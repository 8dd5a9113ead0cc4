"""The first capsules: a convolution whose channels are read as poses."""

from collections.abc import Callable
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.functional.checks import check_choice
from capsmodel.initialised import InitialisedModule
from capsmodel.layers.convolution import Padding, Window, set_weights
from capsmodel.layers.linear import drop
from capsmodel.squash import Squash, chosen_squash

Coupling = Literal["none", "uniform", "leaky"]
Grouping = Literal["channels", "pixels"]


class PrimaryCapsules(InitialisedModule):
    """Every position of a convolution's output holds one capsule of each type.

    Channel `type * pose + p` is element p of the type's pose. Capsules are ordered by type, then
    row, then column.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 4.
    Difference: none. The authors' code routes here too, from one input and in one iteration, so
    that each type gets an equal share of the convolution before its bias: the coupling "uniform",
    or "leaky" where its routing is.

    Attributes:
        convolution: From the features to the poses. Another module may take its place.

    Example:
        >>> import torch
        >>> primary = PrimaryCapsules(32, out_types=8, pose_dim=4, kernel_size=3, stride=2)
        >>> primary(torch.rand(2, 32, 8, 8)).shape, primary.num_capsules(8, 8)
        (torch.Size([2, 72, 4]), 72)
    """

    def __init__(
        self,
        in_channels: int,
        out_types: int,
        pose_dim: int,
        kernel_size: int,
        *,
        stride: int = 1,
        padding: Padding = 0,
        squash: Squash | Callable[[Tensor], Tensor] | None = None,
        coupling: Coupling = "none",
        grouping: Grouping = "channels",
        depthwise: bool = False,
        device: str | torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        """Take channels of the features, types at each position, length of a pose, and the window.

        Args:
            in_channels: Channels of the features.
            out_types: Types of capsules at each position.
            pose_dim: Length of a pose.
            kernel_size: Side of the convolution's window in pixels.
            stride: Its step.
            padding: Zeros on each side of the features, or "same".
            squash: Turns lengths into beliefs: settings, or a function of poses; by default
                `SabourSquash()`.
            coupling: What the convolution, without its bias, is divided by: "none" leaves it as it
                is, "uniform" divides by the number of types, "leaky" by one more.
            grouping: What makes a pose: neighbouring "channels" at one position; or as many
                "pixels" as they lie in memory, mostly of one channel, as reimplementations do that
                forget to bring the channels last.
            depthwise: Whether each number of a pose sees one feature map alone.
            device: Where the weights are, by default PyTorch's own default.
            dtype: Their type, likewise.

        Raises:
            ValueError: If coupling or grouping has no such value, or there are not as many feature
                maps as numbers of poses where each sees one alone.
            TypeError: If the squash is neither settings nor a function.
        """
        super().__init__()
        if depthwise and in_channels != out_types * pose_dim:
            raise ValueError(
                f"Depthwise primary capsules need as many feature maps as out_types times "
                f"pose_dim, {out_types * pose_dim}, got {in_channels}."
            )
        check_choice("coupling", coupling, get_args(Coupling))
        check_choice("grouping", grouping, get_args(Grouping))
        self.in_channels, self.out_types, self.pose_dim = in_channels, out_types, pose_dim
        self.window = Window.of(kernel_size, stride, padding)
        self.coupling = coupling
        self.squash = chosen_squash(squash)
        self.grouping = grouping
        shares = {"none": 1.0, "uniform": 1 / out_types, "leaky": 1 / (out_types + 1)}
        self.share = shares[coupling]
        groups = in_channels if depthwise else 1
        self.convolution = self.window.convolution(in_channels, out_types * pose_dim, groups)
        self._place(device, dtype)

    def initialise(self, generator: torch.Generator | None) -> None:
        """Draw the weights normally with variance 1 / fan-in; the bias starts at zero."""
        set_weights(self.convolution, generator, gain=1.0)

    def num_capsules(self, height: int, width: int) -> int:
        """Return how many capsules features of a height and width become.

        Raises:
            ValueError: If the window does not fit.
        """
        return self.out_types * self.window.positions(height) * self.window.positions(width)

    def extra_repr(self) -> str:
        """Return the settings, for the module's `repr`."""
        return (
            f"{self.in_channels}, out_types={self.out_types}, pose_dim={self.pose_dim}, "
            f"coupling={self.coupling!r}, grouping={self.grouping!r}"
        )

    def forward(
        self, features: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch in_caps pose"]:
        """Return the squashed poses, all of one type before all of the next."""
        maps = self._maps(self.window.padded(features))
        if self.grouping == "pixels":
            positions = maps.shape[2] * maps.shape[3]  # counted, as a batch may have no image
            return self._squashed(maps.reshape(-1, self.out_types * positions, self.pose_dim))
        poses = maps.flatten(2).unflatten(1, (self.out_types, self.pose_dim)).transpose(2, 3)
        return self._squashed(poses.flatten(1, 2))

    def _squashed(self, poses: Tensor) -> Tensor:
        squash = self.squash
        return squash.squash(poses) if isinstance(squash, Squash) else squash(poses)

    def _maps(self, features: Tensor) -> Tensor:
        layer, share = self.convolution, self.share
        if share == 1:
            return layer(features)
        is_usual = type(layer) is nn.Conv2d and layer.padding_mode == "zeros"
        if not is_usual or isinstance(layer.padding, str):  # another in its place
            bias = getattr(layer, "bias", None)
            if not isinstance(bias, Tensor):
                return share * layer(features)
            bias = bias.unflatten(0, (-1, 1, 1))
            return share * (layer(features) - bias) + bias
        # a share of the weights is far less to multiply than one of the maps
        weight, around = share * layer.weight, (layer.stride, layer.padding, layer.dilation)
        return F.conv2d(features, weight, layer.bias, *around, layer.groups)


def drop_capsules(
    poses: Float[Tensor, "batch in_caps pose"],
    rate: float,
    generator: torch.Generator | None,
    *,
    are_raised: bool,
) -> Float[Tensor, "batch in_caps pose"]:
    """Return the capsules with a share of them set to zero.

    Args:
        poses: Poses of all capsules.
        rate: The share.
        generator: Source of the chance; None for PyTorch's own, of the CPU.
        are_raised: Whether the others are raised in proportion, to keep the mean.
    """
    mask = drop(torch.ones(poses.shape[:2], device=poses.device), rate, generator)
    return poses * (mask if are_raised else mask.sign()).to(poses).unsqueeze(-1)
