"""Every level of every factor with every level of all others."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import model_validator

from capsmodel.config import TrainingConfig, why_unbuildable
from capsmodel.settings.parts import later
from search_spaces.plans.base import Definition
from search_spaces.plans.designs.factors import (
    FactorDesign,
    Factors,
    Row,
    check_levels,
    check_num_arms,
    existing,
    is_base,
    name_of,
)
from search_spaces.plans.unbuildable import unbuildable


class FullFactorial(FactorDesign):
    """All combinations of levels.

    It shows the effect of each factor averaged over the others, and which factors depend on each
    other. Half of all trainings count for each level of a factor with two levels, so effects are
    found with fewer seeds than one factor at a time needs. The number of arms is the product of
    the numbers of levels; with more than four or five factors, screen them by a fraction.

    Attributes:
        factors: Path -> levels.
        skip_unbuildable: Whether combinations whose network cannot be built are left out, such as
            those of a large kernel with a small image; otherwise the design is refused with them.
    """

    kind: Literal["factorial"] = "factorial"
    factors: Factors
    skip_unbuildable: bool = later(False)

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

    def left_out(self, configs: Mapping[str, TrainingConfig]) -> Mapping[str, str]:
        """Return the arms whose network cannot be built, if they are to be skipped."""
        return unbuildable(configs) if self.skip_unbuildable else {}

    def check(self, definition: Definition) -> None:
        """Check also that each level is in an arm that is left."""
        super().check(definition)
        built = self.built_arms(definition)
        used = [pair for row in built.arms.values() for pair in row.items()]
        for name, row in self.rows(definition) if built.left_out else ():
            config, settings = existing(definition, name, row)
            for path, level in settings.items():
                if (path, level) not in used:
                    raise ValueError(
                        f"No arm with {name_of({path: level}, tuple(self.factors))} has a network "
                        f"that can be built: leave this level out. In the first, "
                        f"'{name}': {why_unbuildable(config)}"
                    )

    def factor_levels(self) -> Mapping[str, Sequence[Any]]:
        """Return the factors as declared."""
        return self.factors
