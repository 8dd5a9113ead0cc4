"""What a configuration costs before it is trained, and limits on it."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from capsmodel.config import TrainingConfig, num_parameters

Measure = Literal["num_parameters"]


def measured(measure: Measure, config: TrainingConfig) -> int:
    """Return what a config comes to, 0 where its model cannot be built.

    Such a trial fails and says why, which a limit would hide.

    Args:
        measure: The number of trained values is counted without allocating them.
        config: Of a trial.
    """
    assert measure == "num_parameters"
    try:
        return num_parameters(config)
    except ValueError:
        return 0


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Limit:
    """What a point of a space may come to at most, to be proposed at all.

    Attributes:
        measure: Of what.
    """

    measure: Measure
    at_most: Annotated[int, Field(ge=1)]

    @property
    def words(self) -> str:
        """What may be how much."""
        return f"{self.measure} at most {self.at_most}"

    def value(self, config: TrainingConfig) -> int:
        """Return what a config comes to."""
        return measured(self.measure, config)

    def holds(self, config: TrainingConfig) -> bool:
        """Return whether a config keeps it."""
        return self.value(config) <= self.at_most
