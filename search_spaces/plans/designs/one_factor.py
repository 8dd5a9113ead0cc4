"""A design that changes one factor at a time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from search_spaces.plans.base import Definition
from search_spaces.plans.designs.factors import FactorDesign, Factors, Row, is_base, name_of


class OneFactor(FactorDesign):
    """One factor at a time: the base, and arms that differ from it in one setting.

    It shows what each change does to this base with the fewest trainings: one arm per level. It
    cannot show whether two changes that help alone help together, nor whether a change helps at
    another base.

    Attributes:
        factors: Path -> levels besides that of the base; a level that the base has is the base.
        baseline: Name of the base.
    """

    kind: Literal["one_factor"] = "one_factor"
    factors: Factors
    baseline: str = "base"

    def rows(self, definition: Definition) -> Iterator[tuple[str, Row]]:
        """Yield the base, and each level of each factor."""
        yield self.baseline, {}
        for path, levels in self.factors.items():
            for level in levels:
                yield name_of({path: level}, tuple(self.factors)), {path: level}

    def check(self, definition: Definition) -> None:
        """Check also that every factor has a level that the base does not have."""
        super().check(definition)
        for path, levels in self.factors.items():
            if all(is_base(definition, {path: level}) for level in levels):
                raise ValueError(
                    f"The factor '{path}' has no level but that of the base: give it another."
                )

    def crosses_factors(self) -> bool:
        """Return False: no two factors are changed together."""
        return False

    def factor_levels(self) -> Mapping[str, Sequence[Any]]:
        """Return the factors as declared."""
        return self.factors
