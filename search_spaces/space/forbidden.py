"""Combinations of values that a space leaves out: they are never proposed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

from capsmodel.search_range import Floats, Plain
from capsmodel.settings.messages import unknown
from capsmodel.settings.plain import plain
from search_spaces.space.dimensions import Dimension, grid_points

Combination = tuple[tuple[str, Plain], ...]
"""Pairs of a path and a value that no point has all of."""


def combinations(forbid: Any) -> tuple[Combination, ...]:
    """Return combinations of values, given as mappings, path -> value.

    Raises:
        ValueError: If they are not given so, or one of them is empty.
    """
    if isinstance(forbid, Mapping) or not isinstance(forbid, Sequence):
        raise ValueError(f"forbid must be a list of dicts, {_EXAMPLE}, got {forbid!r}.")
    for values in forbid:
        is_given = bool(values) and (isinstance(values, Mapping) or _are_pairs(values))
        if not is_given or not all(isinstance(name, str) for name in dict(values)):
            raise ValueError(
                f"What is forbidden must be a dict with at least one setting, {_EXAMPLE}, got "
                f"{values!r}."
            )
    return tuple(tuple(dict(values).items()) for values in plain(forbid))


def description_of(combination: Combination) -> str:
    """Return a combination as text."""
    return " with ".join(f"{name} = {value}" for name, value in combination)


def in_one_form(forbid: Sequence[Combination]) -> list[list[tuple[str, Plain]]]:
    """Return combinations such that equal ones are equal, however they are written."""
    written = {
        repr(sorted((name, _whole(value)) for name, value in combination)): combination
        for combination in forbid
    }
    return [
        sorted((name, _whole(value)) for name, value in written[text]) for text in sorted(written)
    ]


def _whole(value: Plain) -> Plain:
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass(frozen=True)
class Forbidden:
    """A combination of values in a space.

    Attributes:
        combination: The combination.
        dimensions: The dimensions that each of its paths means, in its order.
    """

    combination: Combination
    dimensions: tuple[tuple[Dimension, ...], ...]

    def is_in(self, params: Mapping[str, Plain]) -> bool:
        """Return whether a point, name of a dimension -> value, has all of the values."""
        return all(
            any(params.get(dimension.name) == value for dimension in meant)
            for (_, value), meant in zip(self.combination, self.dimensions, strict=True)
        )

    def check(self, known: Sequence[str]) -> None:
        """Check that some point has all of the values.

        Args:
            known: What the space varies, for an error sentence.

        Raises:
            ValueError: If none has.
        """
        text = description_of(self.combination)
        for (name, value), meant in zip(self.combination, self.dimensions, strict=True):
            if not meant:
                raise ValueError(
                    f"Forbidding {text} has no effect: "
                    f"{unknown('setting of the space', name, known)}"
                )
            if any(isinstance(dimension.range, Floats) for dimension in meant):
                raise ValueError(
                    f"Forbidding {text} has no effect, as '{name}' is a range without steps and is "
                    f"hardly ever {value}: give it Choices, or forbid values of other settings."
                )
            if not any(dimension.contains(value) for dimension in meant):
                values = ", ".join(str(each) for each in meant[0].values()[:_MOST_SHOWN])
                raise ValueError(
                    f"Forbidding {text} has no effect, as '{name}' is never {value!r} in this "
                    f"space: its values are {values}."
                )
        if not any(_go_together(each) for each in product(*self._choices())):
            raise ValueError(
                f"Forbidding {text} has no effect, as no point of the space has these together: "
                f"leave it out."
            )

    def _choices(self) -> Iterator[list[tuple[tuple[str, Plain], ...]]]:
        """Yield for each path what a point has that has its value, once for each dimension."""
        for (_, value), meant in zip(self.combination, self.dimensions, strict=True):
            having = (dimension for dimension in meant if dimension.contains(value))
            yield [(*dimension.conditions, (dimension.name, value)) for dimension in having]


def check_forbidden(
    forbidden: Sequence[Forbidden], dimensions: Sequence[Dimension], known: Sequence[str]
) -> None:
    """Check that each combination leaves out something, and all of them not everything.

    Args:
        forbidden: The combinations.
        dimensions: The dimensions that they depend on, each choice before those that need it.
        known: What the space varies, for an error sentence.

    Raises:
        ValueError: If one of them does not.
    """
    for each in forbidden:
        each.check(known)
    if forbidden and all(_is_any_in(forbidden, point) for point in grid_points(dimensions)):
        texts = "; ".join(description_of(each.combination) for each in forbidden)
        raise ValueError(f"The space has no point that is not forbidden ({texts}): forbid less.")


def _are_pairs(values: Any) -> bool:
    """Return whether values are a combination of a space already, as `dataclasses.replace` has."""
    return isinstance(values, tuple) and all(
        isinstance(pair, tuple) and len(cast(tuple[Any, ...], pair)) == 2
        for pair in cast(tuple[Any, ...], values)
    )


def _is_any_in(forbidden: Sequence[Forbidden], params: Mapping[str, Plain]) -> bool:
    return any(each.is_in(params) for each in forbidden)


def _go_together(having: Sequence[tuple[tuple[str, Plain], ...]]) -> bool:
    """Return whether a point can have several values, each with what it needs."""
    params: dict[str, Plain] = {}
    return all(params.setdefault(name, value) == value for each in having for name, value in each)


_EXAMPLE = "such as [{'model.routing': 'em', 'loss': 'margin'}]"
_MOST_SHOWN = 8
