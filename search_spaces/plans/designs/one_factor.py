"""The base, and each level of each factor alone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from search_spaces.plans.base import Definition
from search_spaces.plans.designs.factors import FactorDesign, Factors, Row, is_base, name_of


class OneFactor(FactorDesign):
    """One factor at a time: the base, and arms that differ from it in one setting.

    It tells what each change does to this base, for the fewest trainings: one arm a level. It
    cannot tell whether two changes that help apart help together, nor whether a change helps
    elsewhere than at this base.

    Attributes:
        factors: Path -> levels, beside that of the base; one that the base has is the base.
        baseline: What the base is called.
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
        """Refuse also a factor whose every level is the base's own."""
        super().check(definition)
        for path, levels in self.factors.items():
            if all(is_base(definition, {path: level}) for level in levels):
                raise ValueError(
                    f"The factor '{path}' has no level but that of the base: give it another."
                )

    def crosses_factors(self) -> bool:
        """Return that no two are ever changed together."""
        return False

    def told_factors(self) -> Mapping[str, Sequence[Any]]:
        """Return the factors as declared."""
        return self.factors
