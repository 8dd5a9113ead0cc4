"""Settings that a space varies, and the points that they span."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from capsmodel.search_range import Choices, Floats, Ints, Plain, SearchRange

Params = dict[str, Plain]
"""Name of a dimension -> its value: one point."""


@dataclass(frozen=True)
class Dimension:
    """One setting that a space varies, or one choice of a part.

    Attributes:
        name: With the chosen kinds on its path: `model.routing[dynamic].iterations`. The choice
            itself is called `model.routing`.
        path: The setting alone: `model.routing.iterations`.
        range: Its values; those of a choice are the kinds.
        conditions: Name of another dimension and the kind chosen there. All of them hold where
            this one is there.
    """

    name: str
    path: str
    range: SearchRange
    conditions: tuple[tuple[str, str], ...] = ()

    @property
    def num_values(self) -> int | None:
        """How many values there are, None where they are endless."""
        return None if isinstance(self.range, Floats) else len(self.values())

    def is_there(self, params: Mapping[str, Plain]) -> bool:
        """Return whether the kinds that were chosen bring it along."""
        return all(params.get(name) == kind for name, kind in self.conditions)

    def values(self) -> Sequence[Plain]:
        """Return all values in order.

        Raises:
            ValueError: If they are endless.
        """
        match self.range:
            case Ints(low, high, step):
                return range(low, high + 1, step)
            case Choices(values=values):
                return values
            case Floats(low, high):
                raise ValueError(
                    f"'{self.name}' has no end of values from {low:g} to {high:g}: give some, "
                    f"Choices({low:g}, {high:g})."
                )

    def holds(self, value: object) -> bool:
        """Return whether a value is one of them."""
        if isinstance(self.range, Choices):
            return any(value == one and type(value) is type(one) for one in self.range.values)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if isinstance(self.range, Floats):
            return self.range.low <= value <= self.range.high
        return value in range(self.range.low, self.range.high + 1, self.range.step)

    def ends(self) -> tuple[Plain, ...]:
        """Return the values that tell whether all are valid: both ends, or each choice."""
        if isinstance(self.range, Choices):
            return self.range.values
        return (self.range.low, self.range.high)

    def at(self, unit: float) -> Plain:
        """Return the value at a coordinate in [0, 1]: numbers rise with it.

        Values spread evenly, those of a range with log in the logarithm.
        """
        match self.range:
            case Floats(low, high, log):
                number = _between(low, high, unit, log=log)
                return {0.0: low, 1.0: high}.get(unit, min(max(number, low), high))
            case Ints(low, high, log=True):
                # half a step beyond both ends, so that these come as often as they should
                number = round(_between(low - 0.5, high + 0.5, unit, log=True))
                return min(max(number, low), high)
            case _:
                values = self.values()
                return values[min(int(unit * len(values)), len(values) - 1)]


def _between(low: float, high: float, unit: float, *, log: bool) -> float:
    if log:
        return math.exp(_between(math.log(low), math.log(high), unit, log=False))
    return low * (1 - unit) + high * unit


def point_from(dimensions: Sequence[Dimension], pick: Callable[[Dimension], Plain]) -> Params:
    """Return the point, name -> value, of the values picked for the dimensions that are there."""
    params: Params = {}
    for dimension in dimensions:
        if dimension.is_there(params):
            params[dimension.name] = pick(dimension)
    return params


def num_points(
    dimensions: Sequence[Dimension], conditions: tuple[tuple[str, str], ...] = ()
) -> int:
    """Return the number of points of all dimensions that stand directly below some conditions."""
    total = 1
    for dimension in dimensions:
        if dimension.conditions == conditions:
            kinds = ((*conditions, (dimension.name, str(value))) for value in dimension.values())
            total *= sum(num_points(dimensions, below) for below in kinds)
    return total


def grid_points(dimensions: Sequence[Dimension]) -> Iterator[Params]:
    """Return all points one by one, the last dimension changing fastest.

    Raises:
        ValueError: If they are endless.
    """
    return _grid([(dimension, dimension.values()) for dimension in dimensions], {})


def extreme_points(dimensions: Sequence[Dimension]) -> Iterator[Params]:
    """Yield points that together have each end of each dimension, and of each two of one part."""
    for index, dimension in enumerate(dimensions):
        neighbours = [
            other
            for other in dimensions[index + 1 :]
            if other.name.rpartition(".")[0] == dimension.name.rpartition(".")[0]
            and other.conditions == dimension.conditions
        ]
        for value in dimension.ends():
            wanted: dict[str, Plain] = {**dict(dimension.conditions), dimension.name: value}
            yield _with(dimensions, wanted)
            for other in neighbours:
                for end in other.ends():
                    yield _with(dimensions, {**wanted, other.name: end})


def _with(dimensions: Sequence[Dimension], wanted: Mapping[str, Plain]) -> Params:
    return point_from(dimensions, lambda dimension: wanted.get(dimension.name, dimension.ends()[0]))


def _grid(
    remaining: Sequence[tuple[Dimension, Sequence[Plain]]], params: Params
) -> Iterator[Params]:
    if not remaining:
        yield params
        return
    (dimension, values), *later = remaining
    if not dimension.is_there(params):
        yield from _grid(later, params)
        return
    for value in values:
        yield from _grid(later, {**params, dimension.name: value})
