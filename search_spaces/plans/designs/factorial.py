"""Every level of every factor with every level of all others."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import model_validator

from search_spaces.plans.base import Definition
from search_spaces.plans.designs.factors import (
    FactorDesign,
    Factors,
    Row,
    is_base,
    name_of,
    refuse_single_levels,
    refuse_too_many,
)


class FullFactorial(FactorDesign):
    """All combinations of levels.

    It tells what each factor does on average over the others, and which of them depend on each
    other: half of all trainings speak for each level of a factor with two, so that effects are
    found with fewer seeds than one factor at a time needs. It takes the product of the numbers of
    levels, which beyond four or five factors is better screened by a fraction.

    Attributes:
        factors: Path -> levels.
    """

    kind: Literal["factorial"] = "factorial"
    factors: Factors

    @model_validator(mode="after")
    def _can_be_trained(self) -> Self:
        refuse_single_levels(self.factors)
        refuse_too_many(math.prod(map(len, self.factors.values())))
        return self

    def rows(self, definition: Definition) -> Iterator[tuple[str, Row]]:
        """Yield all combinations: that of the base first, where it is one of them."""
        paths = tuple(self.factors)
        rows = [
            dict(zip(paths, levels, strict=True))
            for levels in itertools.product(*self.factors.values())
        ]
        for row in sorted(rows, key=lambda row: not is_base(definition, row)):
            yield name_of(row, paths), row

    def arm_name(self, row_name: str, settings: Row) -> str:
        """Return the name by the levels that exist in the arm."""
        return name_of(settings, tuple(self.factors))

    def told_factors(self) -> Mapping[str, Sequence[Any]]:
        """Return the factors as declared."""
        return self.factors
