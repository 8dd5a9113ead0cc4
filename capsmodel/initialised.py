"""Modules whose weights come from a generator that is handed in."""

from abc import ABC, abstractmethod

import torch
from torch import nn


class InitialisedModule(nn.Module, ABC):
    """A module that is built on the meta device, then given storage, then initialised."""

    @abstractmethod
    def initialise(self, generator: torch.Generator) -> None:
        """Set every parameter in place, drawing from a CPU generator; storage is on the CPU."""
