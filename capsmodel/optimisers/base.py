"""What every optimiser promises."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import nn

from capsmodel.optimisers.rate_schedule import Moment
from capsmodel.settings.parts import Part


class Optimiser(Part, ABC):
    """How gradients move the weights.

    Its whole memory is tensors kept beside each parameter, so that a checkpoint can hold it and
    can be checked against `state_shapes` before anything is loaded.
    """

    family: ClassVar[str] = "optimiser"

    @abstractmethod
    def build(self, parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
        """Return a fresh optimiser of the parameters."""

    @abstractmethod
    def learning_rate_at(self, moment: Moment) -> float:
        """Return the rate of the step that comes next at a moment of the training."""

    @abstractmethod
    def state_shapes(self, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """Return names and shapes of the float32 tensors kept beside a parameter of a shape."""


def can_be_fused(parameters: Sequence[nn.Parameter]) -> bool:
    """Return whether one kernel can move all parameters: whether they lie where there is one."""
    return all(parameter.device.type in {"cpu", "cuda"} for parameter in parameters)
