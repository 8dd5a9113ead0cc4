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
    check_levels,
    check_num_arms,
    is_base,
    name_of,
)


class FullFactorial(FactorDesign):
    """All combinations of levels.

    It shows the effect of each factor averaged over the others, and which factors depend on each
    other. Half of all trainings count for each level of a factor with two levels, so effects are
    found with fewer seeds than one factor at a time needs. The number of arms is the product of
    the numbers of levels; with more than four or five factors, screen them by a fraction.

    Attributes:
        factors: Path -> levels.
    """

    kind: Literal["factorial"] = "factorial"
    factors: Factors

    @model_validator(mode="after")
    def _can_be_trained(self) -> Self:
        check_levels(self.factors)
        check_num_arms(math.prod(map(len, self.factors.values())))
        return self

    def rows(self, definition: Definition) -> Iterator[tuple[str, Row]]:
        """Yield all combinations, the base first if it is one of them."""
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

    def factor_levels(self) -> Mapping[str, Sequence[Any]]:
        """Return the factors as declared."""
        return self.factors
