"""What every stopping promises."""

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol

from capsmodel.settings.parts import Part


class ValidationFigures(Protocol):
    """What a stopping may go by: figures of the validation images after an epoch."""

    @property
    def validation_loss(self) -> float:
        """Mean loss of the validation images."""
        ...

    @property
    def validation_error(self) -> float:
        """Share of the validation images that are classified wrongly."""
        ...


class Stopping(Part, ABC):
    """When a training is done: after so many epochs, or before that with the first that will do.

    Attributes:
        length_setting: Name of the setting that holds the epochs of a full training.
    """

    family: ClassVar[str] = "stopping"
    length_setting: ClassVar[str] = "epochs"

    @property
    @abstractmethod
    def num_epochs(self) -> int:
        """The epochs of a full training: what progress is measured against."""

    @property
    def has_target(self) -> bool:
        """Whether an epoch has to be good enough, so that a training which has none missed it."""
        return False

    def is_reached(self, metrics: ValidationFigures) -> bool:
        """Return whether an epoch is good enough, so that none follows it."""
        del metrics
        return False
