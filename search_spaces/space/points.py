"""Points of a space: a value for each dimension that is there."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from capsmodel.search_range import Plain
from search_spaces.space.dimension import Dimension

Params = dict[str, Plain]


def chosen(dimensions: Sequence[Dimension], pick: Callable[[Dimension], Plain]) -> Params:
    """Return the point, name -> value, of the values picked for the dimensions that are there."""
    params: Params = {}
    for dimension in dimensions:
        if dimension.is_there(params):
            params[dimension.name] = pick(dimension)
    return params


def count(dimensions: Sequence[Dimension], conditions: tuple[tuple[str, str], ...] = ()) -> int:
    """Return the number of points of all dimensions that stand directly below some conditions."""
    total = 1
    for dimension in dimensions:
        if dimension.conditions == conditions:
            kinds = ((*conditions, (dimension.name, str(value))) for value in dimension.values())
            total *= sum(count(dimensions, below) for below in kinds)
    return total


def grid(dimensions: Sequence[Dimension]) -> Iterator[Params]:
    """Return all points one by one, the last dimension changing fastest.

    Raises:
        ValueError: If they are endless.
    """
    return _grid([(dimension, dimension.values()) for dimension in dimensions], {})


def extremes(dimensions: Sequence[Dimension]) -> Iterator[Params]:
    """Yield points that together have each end of each dimension, and of each two of one part."""
    for index, dimension in enumerate(dimensions):
        beside = [
            other
            for other in dimensions[index + 1 :]
            if other.name.rpartition(".")[0] == dimension.name.rpartition(".")[0]
            and other.conditions == dimension.conditions
        ]
        for value in dimension.ends():
            wanted: dict[str, Plain] = {**dict(dimension.conditions), dimension.name: value}
            yield _with(dimensions, wanted)
            for other in beside:
                for end in other.ends():
                    yield _with(dimensions, {**wanted, other.name: end})


def _with(dimensions: Sequence[Dimension], wanted: Mapping[str, Plain]) -> Params:
    return chosen(dimensions, lambda dimension: wanted.get(dimension.name, dimension.ends()[0]))


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
