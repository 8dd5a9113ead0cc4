"""The range that a space may propose for a setting: an annotation besides its valid values.

    iterations: Annotated[int, Field(ge=1), Ints(1, 5)] = 3

The `Field` refuses, the range only proposes: a space may narrow it, or widen it within what is
valid. Nothing here depends on the search.
"""

import math
from dataclasses import dataclass
from typing import Any

from capsmodel.settings.messages import unknown
from capsmodel.settings.parts import Settings
from capsmodel.settings.plain import plain

Plain = str | int | float | bool


@dataclass(frozen=True)
class Ints:
    """Whole numbers from one end to the other, both of them included.

    Attributes:
        low: The smallest.
        high: The largest, a whole number of steps above `low`.
        step: Distance of two neighbours.
        log: Whether the logarithm is spread evenly, not the number itself; steps are then of 1.
    """

    low: int
    high: int
    step: int = 1
    log: bool = False

    def __post_init__(self) -> None:
        """Check the ends.

        Raises:
            ValueError: If the numbers are not whole, not in order, or do not fit each other.
        """
        for name in ("low", "high", "step"):
            value = plain(getattr(self, name))
            object.__setattr__(self, name, value)
            if type(value) is not int:
                raise ValueError(f"{name} of Ints must be a whole number, got {value!r}.")
        _check_ends("Ints", self.low, self.high, log=self.log)
        if self.step < 1 or (self.high - self.low) % self.step:
            raise ValueError(
                f"The step of Ints must be a divisor of high - low = {self.high - self.low}, "
                f"got {self.step}."
            )
        if self.log and self.step != 1:
            raise ValueError(f"Ints with log have a step of 1, got {self.step}: leave one out.")


@dataclass(frozen=True)
class Floats:
    """Numbers from one end to the other, both of them included.

    Attributes:
        low: The smallest.
        high: The largest.
        log: Whether the logarithm is spread evenly, not the number itself.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        """Check the ends, and make floats of whole numbers.

        Raises:
            ValueError: If the ends are not finite numbers, or are not in order.
        """
        for name in ("low", "high"):
            value = plain(getattr(self, name))
            if type(value) not in {int, float} or not math.isfinite(value):
                raise ValueError(f"{name} of Floats must be a finite number, got {value!r}.")
            object.__setattr__(self, name, float(value))
        _check_ends("Floats", self.low, self.high, log=self.log)


@dataclass(frozen=True, init=False)
class Choices:
    """Values that have no order, or whose order does not matter.

    Attributes:
        values: At least two, all of them different.
    """

    values: tuple[Plain, ...]

    def __init__(self, *values: Plain) -> None:
        """Take the values as they are.

        Raises:
            ValueError: If they are fewer than two, repeat, or are not plain and finite.
        """
        values = plain(values)
        for value in values:
            if type(value) not in {str, int, float, bool}:
                raise ValueError(f"Choices are str, int, float or bool, got {value!r}.")
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"Choices must be finite numbers, got {value!r}.")
        if len(values) < 2 or len(set(values)) < len(values):
            raise ValueError(f"Choices must be at least two, all different, got {values!r}.")
        object.__setattr__(self, "values", values)


SearchRange = Ints | Floats | Choices


def search_range(settings_class: type[Settings], field: str) -> SearchRange | None:
    """Return the search range of a setting, or None if it has none.

    Args:
        settings_class: The class that declares the setting.
        field: The setting's name.

    Raises:
        ValueError: If the class has no such setting.
    """
    fields = settings_class.model_fields
    if field not in fields:
        raise ValueError(unknown(f"setting of {settings_class.__name__}", field, list(fields)))
    annotations: list[Any] = fields[field].metadata
    # The outermost stands last: it may narrow that of a type alias.
    return next((a for a in reversed(annotations) if isinstance(a, SearchRange)), None)


def _check_ends(kind: str, low: float, high: float, *, log: bool) -> None:
    if low >= high:
        raise ValueError(f"low of {kind} must be below high, got low {low} and high {high}.")
    if log and low <= 0:
        raise ValueError(f"{kind} with log must start above 0, got low {low}.")
