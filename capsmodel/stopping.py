"""Stopping rules: when a training is done."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Protocol, Self

from pydantic import Field, model_validator

from capsmodel.settings.parts import Part


class ValidationFigures(Protocol):
    """Numbers that a stopping rule may use: those of the validation images after an epoch."""

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
    """When a training is done: after a number of epochs, or with the first that is good enough.

    Attributes:
        length_setting: Name of the setting that holds the epochs of a full training.
    """

    family: ClassVar[str] = "stopping"
    length_setting: ClassVar[str] = "epochs"

    @property
    @abstractmethod
    def num_epochs(self) -> int:
        """The epochs of a full training; progress is a share of them."""

    @property
    def has_target(self) -> bool:
        """Whether there is a target, which a training can miss."""
        return False

    def ends_with(self, history: Sequence[ValidationFigures]) -> bool:
        """Return whether the training ends after the finished epochs.

        It depends on these numbers alone, so a training that is killed and resumed ends where it
        would have ended. By default the last epoch decides.

        Args:
            history: The epochs done, the first one first; at least one.
        """
        return self.is_reached(history[-1])

    def is_reached(self, metrics: ValidationFigures) -> bool:
        """Return whether an epoch is good enough to end the training."""
        del metrics
        return False


class FixedEpochs(Stopping):
    """The training ends after a fixed number of epochs.

    Attributes:
        epochs: Passes over the training images.
    """

    kind: Literal["fixed_epochs"] = "fixed_epochs"
    epochs: Annotated[int, Field(ge=1, le=100_000)] = 50

    @property
    def num_epochs(self) -> int:
        """The epochs set."""
        return self.epochs


class TargetMetric(Stopping):
    """The training ends with the first epoch whose validation figure is at or below a value.

    It serves to compare two models on one kind of image once they are equally good on another. It
    does not use the test split. A training that has not reached the target
    after `max_epochs` ends there, and its record says that it missed it. Learning rates and other
    schedules run over `max_epochs`, whenever the target is reached.

    Source: Hinton, Sabour and Frosst 2018, Matrix capsules with EM routing, on novel viewpoints:
    the capsule network is stopped once it matches a CNN on familiar ones.
    Difference: the validation images decide, so that no test image has a part in it.

    Attributes:
        metric: The metric of the validation images after an epoch that has to be small.
        at_or_below: How small; for `validation_error` a share of the images, from 0 to 1.
        max_epochs: Passes over the training images at most.
    """

    kind: Literal["target_metric"] = "target_metric"
    length_setting: ClassVar[str] = "max_epochs"
    metric: Literal["validation_error", "validation_loss"] = "validation_error"
    at_or_below: Annotated[float, Field(ge=0)] = 0.05
    max_epochs: Annotated[int, Field(ge=1, le=100_000)] = 50

    @model_validator(mode="after")
    def _error_is_a_share(self) -> Self:
        if self.metric == "validation_error" and self.at_or_below > 1:
            raise ValueError(
                f"at_or_below of a validation_error is a share of the images, from 0 to 1, got "
                f"{self.at_or_below:g}: for {self.at_or_below:g} % give {self.at_or_below / 100:g}."
            )
        return self

    @property
    def num_epochs(self) -> int:
        """The epochs of a training that does not reach its target."""
        return self.max_epochs

    @property
    def has_target(self) -> bool:
        """Always."""
        return True

    def is_reached(self, metrics: ValidationFigures) -> bool:
        """Return whether the epoch's figure is at or below the value; a non-finite one is not."""
        return getattr(metrics, self.metric) <= self.at_or_below


STOPPINGS = (FixedEpochs, TargetMetric)
