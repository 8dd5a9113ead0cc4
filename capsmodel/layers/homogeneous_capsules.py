"""Homogeneous vector capsules: votes are products number by number, and nothing is routed."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.initialised import InitialisedModule, set_glorot
from capsmodel.layers.capsule_grid import normalised
from capsmodel.layers.convolution import BatchNorm


class HomogeneousCapsules(InitialisedModule):
    """A parent is the sum of its children's poses, each times a vector of weights, rectified.

    A vote is an elementwise product, not one with a matrix, so that no number of a pose mixes with
    another one. Nothing is routed. It is no control of a routing, as its votes differ too: the
    routing "uniform" is that. Each number of the sums is normalised over the batch and all parents,
    and then shifted as is learned.

    Source: Byerly, Kalganova and Dear 2020, arXiv:2001.09136, and the released code.
    Difference: the running statistics of that code move by 0.0003 in each step.

    Attributes:
        weight: [out_caps, in_caps, pose].
        norm: Normalises the sums.

    Example:
        >>> import torch
        >>> capsules = HomogeneousCapsules(in_caps=64, out_caps=10, pose_dim=16)
        >>> capsules(torch.rand(2, 64, 16)).shape
        torch.Size([2, 10, 16])
    """

    def __init__(
        self,
        in_caps: int,
        out_caps: int,
        pose_dim: int,
        *,
        momentum: float = 0.1,
        device: str | torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        """Take the capsules' numbers and the length of all poses.

        Args:
            in_caps: Number of children.
            out_caps: Number of parents.
            pose_dim: Length of a pose, of children and parents alike.
            momentum: Weight of a batch in the running statistics.
            device: Where the weights are, by default PyTorch's own default.
            dtype: Their type, likewise.
        """
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_caps, in_caps, pose_dim))
        self.norm = BatchNorm(pose_dim, momentum=momentum, epsilon=1e-3, scale=False)
        self._place(device, dtype)

    def initialise(self, generator: torch.Generator | None) -> None:
        """Draw the weights evenly, with the bound that TensorFlow has for their shape."""
        out_caps, in_caps, pose = self.weight.shape
        set_glorot(self.weight, out_caps * in_caps, out_caps * pose, generator)
        self.norm.initialise(generator)

    def extra_repr(self) -> str:
        """Return the settings, for the module's `repr`."""
        out_caps, in_caps, pose = self.weight.shape
        return f"{in_caps}, out_caps={out_caps}, pose_dim={pose}"

    def forward(
        self, poses: Float[Tensor, "batch in_caps pose"]
    ) -> Float[Tensor, "batch out_caps pose"]:
        """Return the poses of the parents, at least zero."""
        sums = torch.einsum("bip,oip->bop", poses, self.weight)
        return F.relu(normalised(self.norm, sums))
