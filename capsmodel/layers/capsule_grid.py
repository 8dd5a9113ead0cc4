"""Capsules at every place of a grid, and the first ones of a network."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.chance import uniform
from capsmodel.functional import lengths, squash
from capsmodel.functional.tensor_repr import shapes_repr
from capsmodel.initialised import InitialisedModule, set_glorot, set_truncated
from capsmodel.layers.convolution import BatchNorm, PreNormConvolution, Window

_POSE_DEVIATION, _LOGIT_DEVIATION = 0.5, 3.0  # of the authors' code


class CapsuleGrid(NamedTuple):
    """Capsules of several types at each place.

    Attributes:
        poses: Matrices are written row after row.
        activations: The belief that each is present, in [0, 1].

    Example:
        >>> import torch
        >>> CapsuleGrid(torch.rand(2, 36, 8, 16), torch.rand(2, 36, 8))  # 8 types at 6 by 6 places
        CapsuleGrid(poses=float32[2, 36, 8, 16], activations=float32[2, 36, 8])
    """

    poses: Float[Tensor, "batch places types pose"]
    activations: Float[Tensor, "batch places types"]

    __repr__ = shapes_repr


class PrimaryStart(NamedTuple):
    """Initial values of primary capsules with activations.

    Attributes:
        is_truncated: Whether weights are drawn as the authors' code draws them, not normally with
            variance 1 / fan-in: truncated normally, for all poses with a deviation of 0.5 and then
            for all logits with one of 3, but read type by type, a pose and its logit at a time. So
            only the last types get the wide ones, most of them for their poses.
        has_bias: Whether poses and logits have biases, which start at zero.
        shift: Amount subtracted from the logits.
        is_even: Whether weights are drawn evenly with variance 2 / (fan-in + fan-out) instead, all
            poses being one fan-out and all logits another.
    """

    is_truncated: bool = False
    has_bias: bool = True
    shift: float = 0.0
    is_even: bool = False


class CapsuleNorm(InitialisedModule):
    """Poses and logits of activations are normalised over the batch, those of each type together.

    A type has one mean and variance of all numbers of its poses at all places, and one of its
    logits, as of `BatchNorm`.

    Source: the released code of Ribeiro, Leontidis and Kollias 2020, arXiv:1905.11455.
    Difference: none. That code learns scale and shift in primary capsules alone.

    Attributes:
        poses: Normalises poses.
        logits: Normalises logits; or None.

    Example:
        >>> import torch
        >>> norm = CapsuleNorm(types=3)
        >>> poses, logits = norm(torch.rand(2, 20, 3, 16), torch.rand(2, 20, 3))
        >>> poses.shape, logits.shape
        (torch.Size([2, 20, 3, 16]), torch.Size([2, 20, 3]))
    """

    def __init__(self, types: int, *, learned: bool = False, with_logits: bool = True) -> None:
        """Take the types, whether scale and shift of each are learned, and if there are logits."""
        super().__init__()
        self.poses = BatchNorm(types, scale=learned, shift=learned)
        self.logits = BatchNorm(types, scale=learned, shift=learned) if with_logits else None

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set what leaves mean 0 and variance 1 as they are."""
        for norm in (self.poses, self.logits):
            if norm is not None:
                norm.initialise(generator)

    def forward(
        self, poses: Float[Tensor, "*places types pose"], logits: Float[Tensor, "*places kinds"]
    ) -> tuple[Float[Tensor, "*places types pose"], Float[Tensor, "*places kinds"]]:
        """Return the normalised poses and logits; kinds are the types, or none without logits."""
        poses = normalised(self.poses, poses.transpose(-1, -2)).transpose(-1, -2)
        return poses, logits if self.logits is None else normalised(self.logits, logits)


class GridPrimaryCapsules(InitialisedModule):
    """Every place holds one capsule of each type, made linearly of the features there.

    Channel `type * pose + p` is element p of the type's pose; the logits of the activations stand
    behind the poses. Without activations the poses are squashed and their lengths are the
    activations.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", section 4.
    Difference: none. The authors' code has no bias and lowers the logits by 1. A larger window and
    the normalisation over the batch are those of Hahn, Pyeon and Kim 2019, "Self-routing capsule
    networks"; that of each type is that of Ribeiro, Leontidis and Kollias 2020; that of each pose
    is that of Tsai, Srivastava, Goh and Salakhutdinov 2020, arXiv:2002.04764, whose capsules have
    no activations: they are 1.

    Attributes:
        convolution: From features to poses and logits, by default 1 x 1.
        norm: Normalises poses and logits over the batch; or None.
        type_norm: Normalises the poses of each type over the batch, and their logits; or None.
        pose_norm: Normalises the numbers of each pose, which is then not squashed; or None.

    Example:
        >>> import torch
        >>> primary = GridPrimaryCapsules(in_channels=32, out_types=8, pose_dim=16)
        >>> primary(torch.rand(2, 32, 6, 6)).poses.shape
        torch.Size([2, 36, 8, 16])
    """

    def __init__(
        self,
        in_channels: int,
        out_types: int,
        pose_dim: int,
        start: PrimaryStart | None = None,
        *,
        with_activations: bool = True,
        window: Window | None = None,
        batch_norm: bool = False,
        pose_norm: bool = False,
        type_norm: bool = False,
        device: str | torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_types, self.pose_dim = in_channels, out_types, pose_dim
        self.start = start or PrimaryStart()
        self.with_activations = with_activations
        out_channels = out_types * (pose_dim + with_activations)
        self.window = window or Window(1)
        self.convolution = self.window.convolution(
            in_channels, out_channels, bias=self.start.has_bias
        )
        self.norm = BatchNorm(out_channels) if batch_norm else None
        self.pose_norm = nn.LayerNorm(pose_dim) if pose_norm else None
        self.type_norm = (
            CapsuleNorm(out_types, learned=True, with_logits=with_activations)
            if type_norm
            else None
        )
        self._place(device, dtype)

    def initialise(self, generator: torch.Generator | None) -> None:
        """Draw the weights about zero; the bias starts at zero."""
        weight = self.convolution.weight.data
        if self.start.is_truncated:
            weight.copy_(self._truncated(torch.empty_like(weight), generator))
        elif self.start.is_even:
            self._set_evenly(weight, generator)
        else:
            nn.init.normal_(weight, std=weight[0].numel() ** -0.5, generator=generator)
        if self.convolution.bias is not None:
            nn.init.zeros_(self.convolution.bias)
        if self.norm is not None:
            self.norm.initialise(generator)
        if self.pose_norm is not None:
            self.pose_norm.reset_parameters()
        if self.type_norm is not None:
            self.type_norm.initialise(generator)

    def _set_evenly(self, weight: Tensor, generator: torch.Generator | None) -> None:
        num_poses = self.out_types * self.pose_dim
        for part in (weight[:num_poses], weight[num_poses:]):
            set_glorot(part, weight[0].numel(), part[:, 0].numel(), generator)

    def _truncated(self, drawn: Tensor, generator: torch.Generator | None) -> Tensor:
        num_poses = self.out_types * self.pose_dim
        set_truncated(drawn[:num_poses], _POSE_DEVIATION, generator)
        if not self.with_activations:
            return drawn
        set_truncated(drawn[num_poses:], _LOGIT_DEVIATION, generator)
        by_type = drawn.unflatten(0, (self.out_types, self.pose_dim + 1))
        return torch.cat([by_type[:, :-1].flatten(0, 1), by_type[:, -1]])

    def num_capsules(self, height: int, width: int) -> int:
        """Return how many capsules features of a height and width become."""
        return self.out_types * self.window.positions(height) * self.window.positions(width)

    def extra_repr(self) -> str:
        """Return the settings, for the module's `repr`."""
        return (
            f"{self.in_channels}, out_types={self.out_types}, pose_dim={self.pose_dim}, "
            f"with_activations={self.with_activations}"
        )

    def forward(self, features: Float[Tensor, "batch channels height width"]) -> CapsuleGrid:
        """Return the capsules of every place, row after row."""
        maps = self.convolution(self.window.padded(features))
        values = maps.flatten(2).transpose(1, 2)
        if self.norm is not None:
            values = normalised(self.norm, values)
        num_poses = self.out_types * self.pose_dim
        poses = values[:, :, :num_poses].unflatten(2, (self.out_types, self.pose_dim))
        logits = values[:, :, num_poses:]
        if self.pose_norm is not None:
            poses = self.pose_norm(poses)
        if self.type_norm is not None:
            poses, logits = self.type_norm(poses, logits)
        if self.with_activations:
            return CapsuleGrid(poses, torch.sigmoid(logits - self.start.shift))
        if self.pose_norm is not None:
            return CapsuleGrid(poses, poses.new_ones(poses.shape[:3]))
        poses = squash(poses)
        return CapsuleGrid(poses, lengths(poses))


class PreNormPrimaryCapsules(InitialisedModule):
    """Every place holds one capsule of each type, made linearly of normalised features there.

    Features are normalised over the batch twice, with scales and shifts of their own: for poses,
    and for the logits of the activations. Channel `type * pose + p` is element p of the type's
    pose. Without activations the poses are squashed and their lengths are the activations.

    Source: the released code of Heinsen 2019, arXiv:1911.00792.
    Difference: none.

    Example:
        >>> import torch
        >>> primary = PreNormPrimaryCapsules(in_channels=32, out_types=8, pose_dim=16)
        >>> primary(torch.rand(2, 32, 6, 6)).poses.shape
        torch.Size([2, 36, 8, 16])
    """

    def __init__(
        self, in_channels: int, out_types: int, pose_dim: int, *, with_activations: bool = True
    ) -> None:
        super().__init__()
        window = Window(1)
        self.shape = (out_types, pose_dim)
        self.poses = PreNormConvolution(in_channels, out_types * pose_dim, window, swish=False)
        self.logits = (
            PreNormConvolution(in_channels, out_types, window, swish=False)
            if with_activations
            else None
        )

    def initialise(self, generator: torch.Generator | None) -> None:
        """Draw the weights and biases evenly."""
        self.poses.initialise(generator)
        if self.logits is not None:
            self.logits.initialise(generator)

    def forward(self, features: Float[Tensor, "batch channels height width"]) -> CapsuleGrid:
        """Return the capsules of every place, row after row."""
        poses = self.poses(features).flatten(2).transpose(1, 2).unflatten(2, self.shape)
        if self.logits is None:
            poses = squash(poses)
            return CapsuleGrid(poses, lengths(poses))
        return CapsuleGrid(poses, self.logits(features).flatten(2).transpose(1, 2).sigmoid())


def normalised(
    norm: BatchNorm, values: Float[Tensor, "*places values"]
) -> Float[Tensor, "*places values"]:
    """Return values, each normalised over all places of the batch.

    Places are rows for that: mapped over examples, PyTorch's derivative of an evaluated
    normalisation is wrong where the gradient lies in another order than the maps (2.15).
    """
    return norm(values.flatten(0, -2)).unflatten(0, values.shape[:-1])


def drop_capsules(grid: CapsuleGrid, rate: float, generator: torch.Generator | None) -> CapsuleGrid:
    """Return the capsules with the pose and activation of a share of them set to zero.

    What is left is not raised: an activation is a probability.
    """
    draws = uniform(grid.activations.shape, generator)
    mask = (draws >= rate).to(grid.poses.device, grid.poses.dtype)
    return CapsuleGrid(grid.poses * mask.unsqueeze(-1), grid.activations * mask)
