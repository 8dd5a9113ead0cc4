"""Linear layers: from features to the logits of the classes, and from poses to images."""

from itertools import pairwise
from math import prod
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.chance import uniform
from capsmodel.initialised import InitialisedModule
from capsmodel.layers.convolution import set_weights


class LinearStack(InitialisedModule):
    """Linear layers with ReLU between them."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(size, after) for size, after in pairwise(sizes))

    def initialise(self, generator: torch.Generator | None) -> None:
        """Draw the weights normally with variance 2 / fan-in, 1 / fan-in in the last layer."""
        for layer in self.layers:
            gain = 1.0 if layer is self.layers[-1] else 2.0
            set_weights(cast(nn.Linear, layer), generator, gain)

    def hidden(self, values: Float[Tensor, "batch values"]) -> Float[Tensor, "batch units"]:
        """Return what enters the last layer."""
        for layer in self.layers[:-1]:
            values = F.relu(layer(values))
        return values


class Classifier(LinearStack):
    """Linear layers with ReLU between them, and dropout before the last one.

    Example:
        >>> import torch
        >>> Classifier(64, hidden=(32,), num_classes=10, dropout=0.5)(torch.rand(2, 64)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self, num_values: int, hidden: tuple[int, ...], num_classes: int, dropout: float
    ) -> None:
        super().__init__((num_values, *hidden, num_classes))
        self.dropout = dropout

    def forward(
        self, features: Float[Tensor, "batch values"], generator: torch.Generator | None = None
    ) -> Float[Tensor, "batch classes"]:
        """Return the logits; the generator, by default PyTorch's own, is used in training only."""
        values = self.hidden(features)
        if self.training and self.dropout > 0:
            values = drop(values, self.dropout, generator)
        return self.layers[-1](values)


def drop(
    values: Float[Tensor, "batch values"], rate: float, generator: torch.Generator | None
) -> Float[Tensor, "batch values"]:
    """Return the values with a share of them set to zero, the others raised to keep the mean.

    PyTorch's own dropout draws from a global generator; this one from the generator that is given.

    Source: Srivastava and others 2014, "Dropout", Journal of Machine Learning Research 15.
    Difference: values are raised in training, where theirs are lowered in use.
    """
    mask = uniform(values.shape, generator) >= rate
    return values * mask.to(values.device) / (1 - rate)


class Decoder(LinearStack):
    """Linear layers with ReLU between them and a sigmoid at the end.

    Example:
        >>> import torch
        >>> Decoder(160, hidden=(64,), image_shape=(1, 8, 8))(torch.rand(2, 160)).shape
        torch.Size([2, 1, 8, 8])
    """

    def __init__(
        self, num_values: int, hidden: tuple[int, ...], image_shape: tuple[int, int, int]
    ) -> None:
        super().__init__((num_values, *hidden, prod(image_shape)))
        self.image_shape = image_shape

    def forward(
        self, poses: Float[Tensor, "batch values"]
    ) -> Float[Tensor, "batch channels height width"]:
        """Return images with values in [0, 1]."""
        return torch.sigmoid(self.layers[-1](self.hidden(poses))).view(-1, *self.image_shape)
