"""What every stopping promises."""

from abc import ABC, abstractmethod
from typing import ClassVar

from capsmodel.parts import Part


class Stopping(Part, ABC):
    """When a training is done."""

    family: ClassVar[str] = "stopping"

    @property
    @abstractmethod
    def num_epochs(self) -> int:
        """The epochs of a full training: what progress is measured against."""
