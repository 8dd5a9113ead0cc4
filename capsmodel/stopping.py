"""Stopping rules: when a training is done."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from decimal import Decimal
from operator import index
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self

from pydantic import Field, model_validator

from capsmodel.metrics import percent
from capsmodel.settings.parts import Part, is_built_in, later

MOST_EPOCHS = 100_000


class ValidationFigures(Protocol):
    """Numbers that a stopping rule may use: those of the validation images after an epoch.

    Where a rule judges within epochs, those after some steps of one.
    """

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

    @property
    def judged_every_steps(self) -> int | None:
        """After how many steps, counted over all epochs, it may end a training within an epoch.

        That epoch is then the last of the history, with the figures of that step. None where only
        the ends of epochs are judged; they always are.
        """
        return None

    def check_validation(self, num_images: int) -> None:
        """Check that it can work with this number of validation images, each right or wrong.

        Raises:
            ValueError: In one sentence, if it cannot.
        """

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


def check_length(stopping: Stopping) -> None:
    """Check that a stopping rule of the user's tells a number of epochs.

    Raises:
        ValueError: If it does not.
    """
    if is_built_in(type(stopping)):
        return
    number: Any = stopping.num_epochs
    try:
        is_allowed = 1 <= index(number) <= MOST_EPOCHS
    except TypeError:  # a number of NumPy has an index, and 2.5 has none
        is_allowed = False
    if not is_allowed:
        raise ValueError(
            f"The stopping rule '{stopping.kind}' must have as num_epochs a whole number from 1 to "
            f"{MOST_EPOCHS:,}, got {number!r}."
        )


class FixedEpochs(Stopping):
    """The training ends after a fixed number of epochs.

    Attributes:
        epochs: Passes over the training images.
    """

    kind: Literal["fixed_epochs"] = "fixed_epochs"
    epochs: Annotated[int, Field(ge=1, le=MOST_EPOCHS)] = 50

    @property
    def num_epochs(self) -> int:
        """The epochs set."""
        return self.epochs


class TargetMetric(Stopping):
    """The training ends once a validation figure is at or below a value, or in a window below it.

    It serves to compare two models on one kind of image once they are equally good on another. It
    does not use the test split. By default the first epoch at or below the value is the last.
    With `every_steps` the figure is judged within epochs too, and the training ends in the middle
    of one. With `window` it also has to be above `at_or_below - window`: a training that jumps
    over the window goes on, and may come back into it. A training that has not reached the target
    after `max_epochs` ends there, and its record says that it missed it. Learning rates and other
    schedules run over `max_epochs`, whenever the target is reached.

    Judging costs one pass over the validation images, and changes no number of the training.

    Source: Hinton, Sabour and Frosst 2018, Matrix capsules with EM routing, on novel viewpoints:
    the capsule network is stopped once it matches a CNN on familiar ones.
    Difference: the validation images decide, so that no test image has a part in it.

    Attributes:
        metric: The metric of the validation images that has to be small.
        at_or_below: How small; for `validation_error` a share of the images, from 0 to 1.
        max_epochs: Passes over the training images at most.
        every_steps: Steps between two judgements, counted over all epochs; the end of each epoch is
            judged as well. None for the ends of epochs alone.
        window: How far below `at_or_below` the figure may lie, itself excluded, in the same unit:
            .002 is .2 points of error. None for as far as it likes.
    """

    kind: Literal["target_metric"] = "target_metric"
    length_setting: ClassVar[str] = "max_epochs"
    metric: Literal["validation_error", "validation_loss"] = "validation_error"
    at_or_below: Annotated[float, Field(ge=0)] = 0.05
    max_epochs: Annotated[int, Field(ge=1, le=MOST_EPOCHS)] = 50
    every_steps: Annotated[int, Field(ge=1)] | None = later(None)
    window: Annotated[float, Field(gt=0)] | None = later(None)

    @model_validator(mode="after")
    def _error_is_a_share(self) -> Self:
        if self.metric == "validation_error" and self.at_or_below > 1:
            raise ValueError(
                f"at_or_below of a validation_error is a share of the images, from 0 to 1, got "
                f"{self.at_or_below:g}: for {self.at_or_below:g} % give {self.at_or_below / 100:g}."
            )
        return self

    @model_validator(mode="after")
    def _window_lies_below(self) -> Self:
        if self.window is not None and self.window > self.at_or_below:
            points = f": for {self.window:g} points give {self.window / 100:g}"
            raise ValueError(
                f"window is at most at_or_below, {self.at_or_below:g}, and in its unit, got "
                f"{self.window:g}{points * (self.metric == 'validation_error')}; leave it out for "
                f"any figure at or below."
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

    @property
    def judged_every_steps(self) -> int | None:
        """As declared."""
        return self.every_steps

    @property
    def above(self) -> float:
        """What the figure has to be above: the lower end of the window."""
        if self.window is None:
            return -math.inf
        # In decimals, as .03 - .002 of binary numbers lies below .028.
        return float(Decimal(str(self.at_or_below)) - Decimal(str(self.window)))

    def is_reached(self, metrics: ValidationFigures) -> bool:
        """Return whether the figure is in the window; a non-finite one is not."""
        return self.above < getattr(metrics, self.metric) <= self.at_or_below

    def check_validation(self, num_images: int) -> None:
        """Check that some number of wrong images has an error in the window.

        Raises:
            ValueError: If none has.
        """
        if self.metric != "validation_error" or self.window is None:
            return
        most = math.ceil(self.at_or_below * num_images)
        errors = (wrong / num_images for wrong in range(most + 1))
        nearest = max(error for error in errors if error <= self.at_or_below)
        if nearest <= self.above:
            low, high, below = map(percent, (self.above, self.at_or_below, nearest))
            raise ValueError(
                f"The window of the stopping rule, above {low:g} % and at or below {high:g} %, "
                f"holds no error that {num_images:,} validation images can have; the nearest below "
                f"is {below:.3g} %: give a wider stopping.window that holds it, or none, or "
                f"validate on more images."
            )


class Patience(Stopping):
    """The training ends once a validation figure has not fallen for some epochs: early stopping.

    The lowest figure so far counts, so one that rises and falls back to it has not fallen. By
    default the weights of the last epoch are tested, which has waited in vain: with
    `TrainingConfig(weights="best")` they are those of the epoch of the lowest validation error.
    A training whose figure goes on falling ends after `max_epochs`. Learning rates and other
    schedules run over `max_epochs`, whenever it ends. The test split is not used.

    Attributes:
        epochs: Epochs in a row without a lower figure that end the training.
        metric: The metric of the validation images that has to fall.
        min_delta: By how much it has to fall below the lowest so far, in the metric's unit: .001 of
            `validation_error` is .1 points.
        max_epochs: Passes over the training images at most.
    """

    kind: Literal["patience"] = "patience"
    length_setting: ClassVar[str] = "max_epochs"
    epochs: Annotated[int, Field(ge=1, le=MOST_EPOCHS)] = 5
    metric: Literal["validation_error", "validation_loss"] = "validation_error"
    min_delta: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    max_epochs: Annotated[int, Field(ge=1, le=MOST_EPOCHS)] = 50

    @property
    def num_epochs(self) -> int:
        """The epochs of a training whose figure goes on falling."""
        return self.max_epochs

    def ends_with(self, history: Sequence[ValidationFigures]) -> bool:
        """Return whether the last epochs have brought no lower figure."""
        lowest, last_fall = math.inf, 0
        for epoch, figures in enumerate(history, start=1):
            figure = getattr(figures, self.metric)
            if figure < lowest - self.min_delta:
                lowest, last_fall = figure, epoch
        return len(history) - last_fall >= self.epochs


STOPPINGS = (FixedEpochs, TargetMetric, Patience)
