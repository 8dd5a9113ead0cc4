"""Metrics: named numbers with unit, direction and split, of an epoch or of the end.

Readers of records need them without a network, so nothing here loads torch.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.dataclasses import dataclass as pydantic_dataclass

Unit = Literal["fraction", "nats", "count", "seconds"]
Direction = Literal["smaller", "larger"]
Split = Literal["train", "validation", "test"]
METRIC_NAME = r"^[a-z][A-Za-z0-9_.\-]{0,199}$"
_NAME_TEXT = "a name of letters, digits, _, . and - that begins with a small letter"


class Coordinate(BaseModel):
    """A point on an axis, such as epsilon = 0.1 or 2 pixels.

    Attributes:
        name: Name of the axis.
        value: Where on it.
        unit: Unit of the axis; "" where it has none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
    value: Annotated[float, Field(allow_inf_nan=False)]
    unit: Annotated[str, StringConstraints(max_length=32)] = ""

    @property
    def text(self) -> str:
        """The point as readers see it: "epsilon = 0.1", "shift = 2 pixels"."""
        return (
            f"{self.name.replace('_', ' ')} = {self.value:g}{f' {self.unit}' if self.unit else ''}"
        )


class Metric(BaseModel):
    """A metric: name, unit, direction and split.

    Attributes:
        name: Its name in records, tables and objectives.
        words: The same for readers, "" for the name with spaces.
        unit: None where there is none. Fractions are shown to readers in percent.
        direction: Which is better, a smaller or a larger one; None where neither is.
        split: The images that it is of; None where it is of none, such as a gradient's norm.
        moment: Whether each epoch has one, or only the end of a training.
        curve: Name of the curve that it is a point of; "" where it is of none.
        at: Where on the curve's axis it is measured.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, StringConstraints(pattern=METRIC_NAME), Field(description=_NAME_TEXT)]
    words: Annotated[str, StringConstraints(max_length=200)] = ""
    unit: Unit | None = None
    direction: Direction | None = "smaller"
    split: Split | None = "validation"
    moment: Literal["epoch", "end"] = "epoch"
    curve: str = Field(default="", exclude_if=lambda curve: not curve)
    at: Coordinate | None = Field(default=None, exclude_if=lambda at: at is None)

    @property
    def text(self) -> str:
        """The metric's name as readers see it."""
        return self.words or self.name.replace("_", " ")

    @property
    def is_fraction(self) -> bool:
        """Whether readers see it in percent."""
        return self.unit == "fraction"

    def shown(self, value: float) -> float:
        """Return a value as readers see it: a fraction in percent."""
        return percent(value) if self.is_fraction else value

    def written(self, value: float, digits: int = 2) -> str:
        """Return a value in words: a fraction as "4.25 %", another one with five figures."""
        return f"{self.shown(value):.{digits}f} %" if self.is_fraction else f"{value:.5g}"


def percent(fraction: float) -> float:
    """Return a fraction in percent, as readers see it."""
    return 100 * fraction


def curve_points(
    metric: Metric, axis: str, values: Iterable[float | int], unit: str = ""
) -> tuple[Metric, ...]:
    """Return the metrics of a curve: one for each value of an axis.

    Args:
        metric: What is measured at each; its name is the curve's.
        axis: Name of the axis, such as "epsilon".
        values: Where it is measured, ascending.
        unit: Unit of the axis.

    Raises:
        ValueError: If there are fewer than two points, or they do not ascend.
    """
    points = [Coordinate(name=axis, value=value, unit=unit) for value in values]
    places = [at.value for at in points]
    if len(places) < 2 or any(value >= following for value, following in pairwise(places)):
        raise ValueError(
            f"The curve '{metric.name}' needs two or more values of {axis}, ascending, got "
            f"{places}: list them in order, each once."
        )
    return tuple(
        metric.model_copy(
            update={
                "name": f"{metric.name}.{axis}_{at.value:g}",
                "words": f"{metric.text}, {at.text}",
                "curve": metric.name,
                "at": at,
            }
        )
        for at in points
    )


def trapezoid_weights(values: Iterable[float | int]) -> tuple[float, ...]:
    """Return the weight of each point in the mean height of a piecewise linear curve.

    The weights add up to 1: the area under the curve, divided by the range of its axis.

    Args:
        values: Two or more points on the axis, ascending.
    """
    gaps = [following - value for value, following in pairwise(values)]
    sides = zip([0.0, *gaps], [*gaps, 0.0], strict=True)
    return tuple((left + right) / 2 / sum(gaps) for left, right in sides)


def non_finite_words(value: float) -> str:
    """Return "NaN", "infinite" or "minus infinity" for a number that is not finite."""
    if math.isnan(value):
        return "NaN"
    return "infinite" if value > 0 else "minus infinity"


TRAIN_LOSS = Metric(name="train_loss", split="train")
VALIDATION_LOSS = Metric(name="validation_loss")
VALIDATION_ERROR = Metric(name="validation_error", unit="fraction")
TEST_ERROR = Metric(
    name="test_error",
    words="error on the test images",
    unit="fraction",
    split="test",
    moment="end",
)
BUILT_IN = (TRAIN_LOSS, VALIDATION_LOSS, VALIDATION_ERROR, TEST_ERROR)

EXTRA_TEST_ERROR = f"{TEST_ERROR.name}."
"""What the error of an extra test begins with; its name follows."""

HEALTH = "health."
"""What a number of a training's health begins with; its name follows."""

EVALUATION = "evaluation."
"""What a number of an evaluation begins with; kind, key and its own name follow."""


def find_metric(name: str, declared: Iterable[Metric] = ()) -> Metric | None:
    """Return the metric of a name, or None if there is none.

    Args:
        name: Name of a built-in metric, of an extra test's error, of a health metric or of an
            evaluation, or of one that a part declares.
        declared: Metrics that are not built in.
    """
    for metric in (*BUILT_IN, *declared):
        if metric.name == name:
            return metric
    if name.startswith(EXTRA_TEST_ERROR):
        text = f"error on the extra test images '{name.removeprefix(EXTRA_TEST_ERROR)}'"
        return TEST_ERROR.model_copy(update={"name": name, "words": text})
    if name.startswith(HEALTH):
        return Metric(name=name, direction=None, split=None)
    if name.startswith(EVALUATION):
        return Metric(name=name, direction=None, split=None, moment="end")
    return None


_NAME_OF_PART_METRIC = re.compile(r"validation_[a-z0-9_]{1,64}")


def is_name_of_part_metric(name: str) -> bool:
    """Return whether a name is one that a part may give to an epoch metric that it measures."""
    return bool(_NAME_OF_PART_METRIC.fullmatch(name)) and find_metric(name) is None


def metric_names(others: Iterable[str] = ()) -> list[str]:
    """Return the names for an error sentence: built-in ones and others, without health."""
    names = [metric.name for metric in BUILT_IN]
    return [*names, *(name for name in others if name not in names and not name.startswith(HEALTH))]


def why_unseen(metric: Metric) -> str:
    """Return why nothing is chosen by a metric, or "" if something may be.

    No choice goes by results of evaluations, whatever their split: some use the test split, and a
    choice may not depend on what was examined later. A search may limit those of validation images,
    which its log keeps (`search_spaces.plans.limited_measures`).
    """
    if metric.name.startswith(EVALUATION):
        return "selection never sees what an evaluation found, as that may be of the test split"
    return "selection never sees the test split" if metric.split == "test" else ""


@dataclass(frozen=True)
class Objective:
    """The objective of a choice: the only way from a trial's numbers to a choice.

    Ranking, searches, early stopping and the selection of weights use nothing else. It accepts any
    numbers of a trial and reads only its own, which is never one of the test split.

    Raises:
        ValueError: If the metric is of the test split or of an evaluation, or no direction is the
            better one.
    """

    metric: Metric

    def __post_init__(self) -> None:
        """Check that selection may use the metric."""
        if why := why_unseen(self.metric):
            raise ValueError(f"Nothing is chosen by {self.metric.name}: {why}.")
        if self.metric.direction is None:
            raise ValueError(
                f"Nothing is chosen by {self.metric.name}: neither a small nor a large one is "
                f"better."
            )

    def value(self, numbers: Mapping[str, float]) -> float | None:
        """Return the objective from a trial's numbers, None if it is missing."""
        return numbers.get(self.metric.name)

    def cost(self, value: float) -> float:
        """Return a value as a cost, which should be small."""
        return -value if self.metric.direction == "larger" else value


@pydantic_dataclass(frozen=True, config=ConfigDict(extra="forbid", ser_json_inf_nan="constants"))
class EpochMetrics:
    """The results of one epoch, from its training to the tracking store.

    Errors are fractions. Messages and files hold it as JSON, where non-finite numbers survive.

    Attributes:
        epoch: Number of the epoch, from 1.
        train_loss: Mean loss of the training images, with reconstruction, while weights moved.
        validation_loss: Mean loss of the validation images after the epoch.
        validation_error: Share of the validation images that are classified wrongly.
        duration_seconds: Wall-clock time of the epoch, validation included.
        reaches_target: Whether the stopping rule ends the training with it.
        best_epoch: The epoch whose weights are tested if the training ends with this one; 0 if
            these are its own.
        health: Name -> number that shows whether the network is sound; `capsmodel.health` says
            what they mean.
        metrics: Name -> value of what the parts themselves have measured.
    """

    epoch: Annotated[int, Field(ge=0, le=2**63 - 1)]  # what a database can hold
    train_loss: float
    validation_loss: float
    validation_error: float
    duration_seconds: Annotated[float, Field(ge=-3e11, le=3e11)] = 0.0  # ten thousand years
    reaches_target: bool = False
    health: dict[str, float] = field(default_factory=dict[str, float])
    # left out where it is empty, as in the files of an earlier release
    metrics: dict[str, float] = Field(default_factory=dict, exclude_if=lambda metrics: not metrics)
    best_epoch: Annotated[int, Field(ge=0, exclude_if=lambda epoch: not epoch)] = 0

    @property
    def tested_epoch(self) -> int:
        """The epoch whose weights are tested if the training ends with this one."""
        return self.best_epoch or self.epoch

    def numbers(self) -> dict[str, float]:
        """Return all that was measured by the names of its metrics, the built-in ones last."""
        health = {HEALTH + name: value for name, value in self.health.items()}
        losses = (TRAIN_LOSS, VALIDATION_LOSS, VALIDATION_ERROR)
        return (
            health | self.metrics | {metric.name: getattr(self, metric.name) for metric in losses}
        )
