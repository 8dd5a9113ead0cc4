"""Limits of a search: on what is known before a training, and on what its trials measure.

What trials measure has the name that records give it. A metric of an evaluation is called
`kind.metric`, such as `confidence.calibration_error`.
"""

import math
from typing import Literal, get_args

from pydantic import ConfigDict, field_validator, model_validator
from pydantic.dataclasses import dataclass

from capsmodel.config import TrainingConfig, num_parameters
from capsmodel.settings.messages import unknown

Measure = Literal["num_parameters"]
MEASURED_BY_TRIALS = ("seconds_per_epoch", "peak_memory_bytes")
"""Measures that every trial's record has, as far as its machine can take them."""

_KNOWN = (*get_args(Measure), *MEASURED_BY_TRIALS)


def measured(measure: Measure, config: TrainingConfig) -> int:
    """Return the measure of a config; parameters are counted without allocating them.

    Raises:
        ValueError: If its network cannot be built.
    """
    assert measure == "num_parameters"
    return num_parameters(config)


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Limit:
    """An upper limit that proposals of a search must keep.

    A point of more parameters is never proposed. What is measured is known once a trial has ended:
    a proposal beyond such a limit is no candidate for the best.

    Attributes:
        measure: What is limited: `num_parameters`, `seconds_per_epoch`, `peak_memory_bytes`, or
            `kind.metric` of an evaluation of the sweep that looks at validation images.
        at_most: The largest allowed value, in the measure's unit.
    """

    measure: str
    at_most: float

    @field_validator("measure")
    @classmethod
    def _measure_exists(cls, measure: str) -> str:
        if measure not in _KNOWN and not all(measure.partition(".")):
            known = (*_KNOWN, "KIND.METRIC of an evaluation")
            raise ValueError(unknown("measure of a limit", measure, known))
        return measure

    @field_validator("at_most")
    @classmethod
    def _whole_numbers_as_such(cls, at_most: float) -> float:
        """Return 2 for 2.0, so that equal limits have one description."""
        if not (math.isfinite(at_most) and at_most > 0):
            raise ValueError(f"at_most of a limit must be a number above 0, got {at_most:g}.")
        return int(at_most) if at_most == int(at_most) else at_most

    @model_validator(mode="after")
    def _parameters_are_counted(self) -> "Limit":
        if not self.is_measured and not isinstance(self.at_most, int):
            raise ValueError(
                f"A number of parameters is limited by a whole number, got {self.at_most}."
            )
        return self

    @property
    def description(self) -> str:
        """The limit as text."""
        return f"{self.measure} at most {self.at_most}"

    @property
    def is_measured(self) -> bool:
        """Whether it is known only once a trial has measured it."""
        return self.measure not in get_args(Measure)

    @property
    def evaluation(self) -> tuple[str, str]:
        """Kind of the evaluation and name of its metric that is limited, both "" if none is."""
        kind, _, metric = self.measure.partition(".")
        return (kind, metric) if metric else ("", "")

    def value(self, config: TrainingConfig) -> int:
        """Return the measure of a config, of a limit that is not measured.

        Raises:
            ValueError: If its network cannot be built.
        """
        assert not self.is_measured
        return measured("num_parameters", config)

    def is_met_by(self, config: TrainingConfig) -> bool:
        """Return whether a config whose network can be built meets the limit."""
        return self.value(config) <= self.at_most

    def excess(self, value: float) -> float:
        """Return by which part of the limit a measured value exceeds it; at most 0 within it."""
        return (value - self.at_most) / self.at_most
