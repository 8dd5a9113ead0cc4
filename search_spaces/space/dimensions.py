"""Settings that a space varies, and the points that they span."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from capsmodel.search_range import Choices, Floats, Ints, Plain, SearchRange

Params = dict[str, Plain]
"""Name of a dimension -> its value: one point."""

_NOTHING: Mapping[str, Plain] = MappingProxyType({})


@dataclass(frozen=True)
class Dimension:
    """One setting that a space varies, or one choice of a part.

    Attributes:
        name: The path with the chosen kinds: `model.routing[dynamic].iterations`. The choice
            itself is called `model.routing`.
        path: The path of the setting: `model.routing.iterations`.
        range: Its values; for a choice the kinds.
        conditions: Names of other dimensions, each with a kind. The dimension is active if all of
            them have these kinds.
    """

    name: str
    path: str
    range: SearchRange
    conditions: tuple[tuple[str, str], ...] = ()

    @property
    def num_values(self) -> int | None:
        """Number of values, None if it is infinite."""
        return None if isinstance(self.range, Floats) else len(self.values())

    def is_active(self, params: Mapping[str, Plain]) -> bool:
        """Return whether the dimension exists with the chosen kinds."""
        return all(params.get(name) == kind for name, kind in self.conditions)

    def values(self) -> Sequence[Plain]:
        """Return all values in order.

        Raises:
            ValueError: If their number is infinite.
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

    def contains(self, value: object) -> bool:
        """Return whether a value is in its range."""
        if isinstance(self.range, Choices):
            return any(
                value == choice and type(value) is type(choice) for choice in self.range.values
            )
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if isinstance(self.range, Floats):
            return self.range.low <= value <= self.range.high
        return value in range(self.range.low, self.range.high + 1, self.range.step)

    def extremes(self) -> tuple[Plain, ...]:
        """Return both ends of the range, or all choices."""
        if isinstance(self.range, Choices):
            return self.range.values
        return (self.range.low, self.range.high)

    def at(self, unit: float) -> Plain:
        """Return the value at a coordinate in [0, 1]; numbers increase with it.

        Values are spread evenly, on a logarithmic range by their logarithm.
        """
        match self.range:
            case Floats(low, high, log):
                number = _interpolated(low, high, unit, log=log)
                return {0.0: low, 1.0: high}.get(unit, min(max(number, low), high))
            case Ints(low, high, log=True):
                # half a step beyond both ends, so that these are as frequent as other values
                number = round(_interpolated(low - 0.5, high + 0.5, unit, log=True))
                return min(max(number, low), high)
            case _:
                values = self.values()
                return values[min(int(unit * len(values)), len(values) - 1)]


def _interpolated(low: float, high: float, unit: float, *, log: bool) -> float:
    if log:
        return math.exp(_interpolated(math.log(low), math.log(high), unit, log=False))
    return low * (1 - unit) + high * unit


def point_from(dimensions: Sequence[Dimension], pick: Callable[[Dimension], Plain]) -> Params:
    """Return a point, name -> value, with the values picked for the active dimensions."""
    params: Params = {}
    for dimension in dimensions:
        if dimension.is_active(params):
            params[dimension.name] = pick(dimension)
    return params


def num_points(
    dimensions: Sequence[Dimension],
    conditions: tuple[tuple[str, str], ...] = (),
    fixed: Mapping[str, Plain] = _NOTHING,
) -> int:
    """Return the number of points of the dimensions with exactly some conditions, and below.

    Args:
        dimensions: All dimensions.
        conditions: The conditions.
        fixed: Name of a dimension -> the only value that is counted.
    """
    total = 1
    for dimension in dimensions:
        if dimension.conditions == conditions:
            name = dimension.name
            values = [fixed[name]] if name in fixed else dimension.values()
            kinds = ((*conditions, (name, str(value))) for value in values)
            total *= sum(num_points(dimensions, below, fixed) for below in kinds)
    return total


def grid_points(dimensions: Sequence[Dimension]) -> Iterator[Params]:
    """Yield all points, the last dimension changing fastest.

    Raises:
        ValueError: If their number is infinite.
    """
    return _grid([(dimension, dimension.values()) for dimension in dimensions], {})


def extreme_points(
    dimensions: Sequence[Dimension], is_forbidden: Callable[[Params], bool]
) -> Iterator[Params]:
    """Yield points that contain both ends of each dimension, and of each pair in one part.

    Args:
        dimensions: The dimensions.
        is_forbidden: Whether a point has values that are forbidden together; such are left out.
    """
    points = (_point_with(dimensions, wanted, is_forbidden) for wanted in _extremes(dimensions))
    return (point for point in points if not is_forbidden(point))


def _extremes(dimensions: Sequence[Dimension]) -> Iterator[dict[str, Plain]]:
    """Yield both ends of each dimension, and of each pair in one part, with what they need."""
    for index, dimension in enumerate(dimensions):
        neighbours = [
            other
            for other in dimensions[index + 1 :]
            if other.name.rpartition(".")[0] == dimension.name.rpartition(".")[0]
            and other.conditions == dimension.conditions
        ]
        for value in dimension.extremes():
            wanted: dict[str, Plain] = {**dict(dimension.conditions), dimension.name: value}
            yield wanted
            for other in neighbours:
                for end in other.extremes():
                    yield {**wanted, other.name: end}


def _point_with(
    dimensions: Sequence[Dimension],
    wanted: Mapping[str, Plain],
    is_forbidden: Callable[[Params], bool],
) -> Params:
    """Return a point with some values, and else with the first end that is not forbidden."""
    params = dict(wanted)

    def pick(dimension: Dimension) -> Plain:
        if dimension.name not in params:
            first = dimension.extremes()[0]
            ends = ({**params, dimension.name: end} for end in dimension.extremes())
            allowed = (point[dimension.name] for point in ends if not is_forbidden(point))
            params[dimension.name] = next(allowed, first)
        return params[dimension.name]

    return point_from(dimensions, pick)


def _grid(
    remaining: Sequence[tuple[Dimension, Sequence[Plain]]], params: Params
) -> Iterator[Params]:
    if not remaining:
        yield params
        return
    (dimension, values), *later = remaining
    if not dimension.is_active(params):
        yield from _grid(later, params)
        return
    for value in values:
        yield from _grid(later, {**params, dimension.name: value})
