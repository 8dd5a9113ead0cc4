"""Measures of a configuration that are known before it is trained, and limits on them."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from capsmodel.config import TrainingConfig, num_parameters

Measure = Literal["num_parameters"]


def measured(measure: Measure, config: TrainingConfig) -> int:
    """Return the measure of a config; parameters are counted without allocating them.

    Raises:
        ValueError: If its network cannot be built.
    """
    assert measure == "num_parameters"
    return num_parameters(config)


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Limit:
    """An upper limit that a point of a space must meet to be proposed.

    Attributes:
        measure: The limited measure.
        at_most: The largest allowed value.
    """

    measure: Measure
    at_most: Annotated[int, Field(ge=1)]

    @property
    def description(self) -> str:
        """The limit as text."""
        return f"{self.measure} at most {self.at_most}"

    def value(self, config: TrainingConfig) -> int:
        """Return the measure of a config.

        Raises:
            ValueError: If its network cannot be built.
        """
        return measured(self.measure, config)

    def is_met_by(self, config: TrainingConfig) -> bool:
        """Return whether a config whose network can be built meets the limit."""
        return self.value(config) <= self.at_most
