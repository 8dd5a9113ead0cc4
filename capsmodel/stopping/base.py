"""What every stopping promises."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from capsmodel.settings.parts import Part


class ValidationFigures(Protocol):
    """What a stopping may go by: numbers of the validation images after an epoch."""

    @property
    def validation_loss(self) -> float:
        """Mean loss of the validation images."""
        ...

    @property
    def validation_error(self) -> float:
        """Share of the validation images that are classified wrongly."""
        ...

    @property
    def metrics(self) -> Mapping[str, float]:
        """Name -> value of what the parts themselves have measured."""
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

    def ends_with(self, history: Sequence[ValidationFigures]) -> bool:
        """Return whether no epoch follows those done.

        It hangs on these numbers alone, so that a training which was killed and goes on ends
        where it would have ended. By default the last epoch decides.

        Args:
            history: The epochs done, the first one first; at least one.
        """
        return self.is_reached(history[-1])

    def is_reached(self, metrics: ValidationFigures) -> bool:
        """Return whether an epoch is good enough by itself, so that none follows it."""
        del metrics
        return False
