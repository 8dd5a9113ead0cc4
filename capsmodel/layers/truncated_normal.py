"""Initial values as the first capsule network's released code draws them."""

import torch
from torch import Tensor, nn

_ENDS = 2.0  # deviations beyond which TensorFlow draws again


def set_truncated(weight: Tensor, deviation: float, generator: torch.Generator | None) -> None:
    """Draw a weight normally in place, and again what is further out than two deviations.

    Source: the released code of Sabour, Frosst and Hinton 2017.
    Difference: none.
    """
    end = _ENDS * deviation
    nn.init.trunc_normal_(weight, std=deviation, a=-end, b=end, generator=generator)


def plain_layers(module: nn.Module) -> list[nn.Conv2d | nn.Linear]:
    """Return the convolutions and linear layers in a module, the first one first."""
    return [layer for layer in module.modules() if isinstance(layer, nn.Conv2d | nn.Linear)]


def set_biases(module: nn.Module, value: float) -> None:
    """Set the biases of the convolutions and linear layers in a module."""
    for layer in plain_layers(module):
        assert layer.bias is not None
        nn.init.constant_(layer.bias, value)
