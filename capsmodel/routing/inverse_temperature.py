"""Inverse temperatures: how sharply a routing decides in each of its iterations."""

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from capsmodel.functional import rising_inverse_temperature
from capsmodel.search_range import Floats
from capsmodel.settings.parts import Part


class InverseTemperature(Part, ABC):
    """How sharply a routing decides in each of its iterations."""

    family: ClassVar[str] = "inverse temperature"

    @abstractmethod
    def at(self, iteration: int) -> float:
        """Return the inverse temperature of an iteration, counted from 0."""


class ConstantInverseTemperature(InverseTemperature):
    """The same in all iterations.

    Attributes:
        value: Multiplier of the logits.
    """

    kind: Literal["constant"] = "constant"
    value: Annotated[float, Field(gt=0), Floats(1e-4, 10.0, log=True)] = 1.0

    def at(self, iteration: int) -> float:
        """Return the value."""
        return self.value


class RisingInverseTemperature(InverseTemperature):
    """It rises towards a final value: iteration i has final * (1 - decay^(i + 1)).

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", the authors' answers
    in the open review: 0.01 * (1 - 0.95^(i + 1)).
    Difference: none.

    Attributes:
        final: The value after very many iterations.
        decay: Multiplier of the distance to it in each iteration; 0 starts there.
    """

    kind: Literal["rising"] = "rising"
    final: Annotated[float, Field(gt=0), Floats(1e-3, 10.0, log=True)] = 0.01
    decay: Annotated[float, Field(ge=0, lt=1), Floats(0.0, 0.95)] = 0.95

    def at(self, iteration: int) -> float:
        """Return final * (1 - decay^(iteration + 1))."""
        return rising_inverse_temperature(iteration, self.final, self.decay)


INVERSE_TEMPERATURES = (ConstantInverseTemperature, RisingInverseTemperature)
