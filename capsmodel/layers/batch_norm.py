"""Batch normalisation of feature maps."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.initialised import InitialisedModule

_MOMENTUM = 0.1  # of the running statistics


class BatchNorm(InitialisedModule):
    """Each channel is brought to mean 0 and variance 1, then scaled and shifted as is learned.

    In training mean and variance are those of the batch, in evaluation the running ones, so that an
    image is then judged by itself. One image with maps of one pixel has no variance: in training
    too it is judged by the running statistics, which stay. PyTorch's own module refuses it, and
    also counts batches, which nothing reads.

    Source: Ioffe and Szegedy 2015, arXiv:1502.03167, algorithms 1 and 2.
    Difference: running statistics stand for those of all training images.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(channels))
        self.bias = nn.Parameter(torch.empty(channels))
        self.running_mean: Tensor
        self.running_variance: Tensor
        self.register_buffer("running_mean", torch.empty(channels))
        self.register_buffer("running_variance", torch.empty(channels))

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set what leaves mean 0 and variance 1 as they are."""
        for value in (self.weight, self.running_variance):
            nn.init.ones_(value)
        for value in (self.bias, self.running_mean):
            nn.init.zeros_(value)

    def forward(
        self, features: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels height width"]:
        """Return the normalised maps; in training the running statistics move."""
        has_variance = features.numel() > features.shape[1]
        return F.batch_norm(
            features,
            self.running_mean,
            self.running_variance,
            self.weight,
            self.bias,
            training=self.training and has_variance,
            momentum=_MOMENTUM,
        )
