"""Limits across settings: what a configuration may come to, known before it is trained."""

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from capsmodel.config import TrainingConfig
from search_spaces.space.measure import Measure, measured


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
