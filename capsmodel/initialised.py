"""Modules whose weights are set when they are built, and how weights are drawn."""

from abc import ABCMeta, abstractmethod
from inspect import Signature, signature
from itertools import chain
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

M = TypeVar("M", bound="SetModule")


class SetWhenBuilt(ABCMeta):
    """The class of modules whose weights are set once their constructor has ended.

    Authors of layers and routings need not think of it.
    """

    @property
    def __signature__(cls) -> Signature:
        """The constructor's arguments, which `__call__` would hide."""
        constructor = signature(cls.__init__)  # pyright: ignore[reportUnknownArgumentType]
        _, *arguments = constructor.parameters.values()
        return constructor.replace(parameters=arguments)

    def __call__(cls: type[M], *arguments: Any, **settings: Any) -> M:  # pyright: ignore[reportGeneralTypeIssues]
        """Return a new module with its weights set."""
        module: M = super().__call__(*arguments, **settings)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportAttributeAccessIssue]
        module.reset_parameters()
        return module


class SetModule(nn.Module, metaclass=SetWhenBuilt):
    """A module whose weights are set when it is built."""

    @abstractmethod
    def reset_parameters(self) -> None:
        """Set every weight as the constructor does, drawing from PyTorch's default generator.

        On the meta device, where nothing has values, nothing is set or drawn.
        """

    def _has_values(self) -> bool:
        return not any(value.is_meta for value in chain(self.parameters(), self.buffers()))


class InitialisedModule(SetModule):
    """A layer: its weights are drawn when it is built, and anew by `initialise`."""

    @abstractmethod
    def initialise(self, generator: torch.Generator | None) -> None:
        """Set every parameter in place.

        Args:
            generator: Where storage is on the CPU, a CPU generator that all is drawn from; None
                for the default one of the storage's device.
        """

    def reset_parameters(self) -> None:
        """Set every weight as the constructor does, drawing from PyTorch's default generator.

        On the meta device, where nothing has values, nothing is set or drawn.
        """
        if self._has_values():
            self.initialise(None)

    def _place(self, device: str | torch.device | None, dtype: torch.dtype | None) -> None:
        """Bring all to a device and a type before values are set; None leaves it."""
        if device is not None or dtype is not None:
            self.to(device=device, dtype=dtype)


_ENDS = 2.0  # deviations beyond which TensorFlow draws again


def set_truncated(weight: Tensor, deviation: float, generator: torch.Generator | None) -> None:
    """Draw a weight normally in place, and redraw values beyond two standard deviations.

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


_CUT_DEVIATION = 0.87962566  # of a standard normal number that is cut at 2


def set_keras_normal(weight: Tensor, fan_in: int, generator: torch.Generator | None) -> None:
    """Draw a weight truncated normally in place, with variance 2 / fan-in after the cut.

    Source: He and others 2015, arXiv:1502.01852, equation 10, as "he_normal" of Keras draws it.
    Difference: none.
    """
    set_truncated(weight, (2.0 / fan_in) ** 0.5 / _CUT_DEVIATION, generator)


def set_glorot(
    weight: Tensor, fan_in: float, fan_out: float, generator: torch.Generator | None
) -> None:
    """Draw a weight evenly in place, with variance 2 / (fan-in + fan-out).

    Source: Glorot and Bengio 2010, "Understanding the difficulty of training deep feedforward
    neural networks", equation 16, as "glorot_uniform" of Keras draws it.
    Difference: none.
    """
    bound = (6.0 / (fan_in + fan_out)) ** 0.5
    nn.init.uniform_(weight, -bound, bound, generator=generator)
