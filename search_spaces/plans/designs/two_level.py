"""What fractions and screens share: factors of two levels, and rows of these."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator

from search_spaces.plans.base import Definition
from search_spaces.plans.designs.factors import (
    FactorDesign,
    Factors,
    Row,
    check_levels,
    existing,
    is_base,
    name_of,
)

BASELINE = "base"
FEWEST_FACTORS = 3
"""Of a fraction or a screen."""

Effect = tuple[int, ...]
"""Indices of factors from 0: one index for a main effect, two for an interaction."""


def _of_two_levels(factors: Mapping[str, tuple[Any, ...]]) -> Mapping[str, tuple[Any, ...]]:
    check_levels(factors)
    for path, levels in factors.items():
        if len(levels) > 2:
            raise ValueError(
                f"Here every factor has two levels, and '{path}' has {len(levels)}: choose two of "
                f"them, or take FullFactorial."
            )
    return factors


TwoLevelFactors = Annotated[Factors, AfterValidator(_of_two_levels)]
"""Path of a setting -> its two levels."""


class TwoLevelDesign(FactorDesign, ABC):
    """Base class of designs with some combinations of two levels; members say which.

    The level that the base has counts as the first level of a factor, so that the row of all first
    levels is the base if possible. That row is called "base", the others by the levels that differ
    from the first row.

    Attributes:
        factors: Path -> two levels.
    """

    factors: TwoLevelFactors

    @abstractmethod
    def combinations(self) -> Iterator[tuple[bool, ...]]:
        """Yield the rows: for each factor whether it has its second level."""

    @abstractmethod
    def mixed(self) -> Iterator[tuple[Effect, tuple[Effect, ...]]]:
        """Yield the effects that are mixed with others, and these others."""

    @abstractmethod
    def fraction_fields(self) -> Mapping[str, Any]:
        """Return the fraction's fields of the manifest, without its aliases."""

    def rows(self, definition: Definition) -> Iterator[tuple[str, Row]]:
        """Yield the combinations, the base first if it is one of them."""
        ordered = {path: self._base_first(definition, path) for path in self.factors}
        paths = tuple(ordered)
        first: Row = {}
        for has_second in self.combinations():
            levels = zip(ordered.items(), has_second, strict=True)
            row = {path: pair[is_second] for (path, pair), is_second in levels}
            if first:
                yield name_of({p: row[p] for p in row if row[p] != first[p]}, paths), row
            else:
                first = row
                yield BASELINE if is_base(definition, row) else name_of(row, paths), row

    def check(self, definition: Definition) -> None:
        """Check also that every arm has every factor, and that its levels differ."""
        super().check(definition)
        rows = tuple(self.rows(definition))
        for name, row in rows:
            if lacking := row.keys() - existing(definition, name, row)[1].keys():
                raise ValueError(
                    f"The factor '{min(lacking)}' does not exist in the arm '{name}', and here "
                    f"every arm has all factors: leave it out, or take FullFactorial."
                )
        (name, first), *_ = rows
        for path, levels in self.factors.items():
            configs = [existing(definition, name, {**first, path: level})[0] for level in levels]
            if configs[0] == configs[1]:
                raise ValueError(
                    f"Both levels of the factor '{path}' give the arm '{name}' the same settings: "
                    f"replace one of them."
                )

    def manifest_fields(self, definition: Definition) -> dict[str, Any]:
        """Return also the resolution, and which effects are mixed."""
        fields = super().manifest_fields(definition)
        aliases = {
            self._title(effect): tuple(map(self._title, others)) for effect, others in self.mixed()
        }
        design = {**fields["design"], **self.fraction_fields(), "aliases": aliases}
        return {**fields, "design": design}

    def factor_levels(self) -> Mapping[str, Sequence[Any]]:
        """Return the factors as declared."""
        return self.factors

    def _title(self, effect: Effect) -> str:
        paths = tuple(self.factors)
        return " x ".join(paths[place] for place in effect)

    def _base_first(self, definition: Definition, path: str) -> tuple[Any, Any]:
        first, second = self.factors[path]
        is_turned = is_base(definition, {path: second}) and not is_base(definition, {path: first})
        return (second, first) if is_turned else (first, second)
