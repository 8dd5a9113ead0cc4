"""The whole, and the whole without each of its components."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from search_spaces.plans.base import Definition
from search_spaces.plans.designs.factors import FactorDesign, Row

Components = Annotated[Mapping[str, Mapping[str, Any]], Field(min_length=1)]


class LeaveOneOut(FactorDesign):
    """Leave one component out at a time, and on request add one in at a time.

    Leaving out tells what each component is worth where all others are there: two that do the same
    work both look worthless. Adding in tells what each is worth alone, and so finds those two. It
    takes twice the arms, and neither tells how components work together in between.

    Attributes:
        components: Name -> what leaves it out, path -> value: `{"reconstruction":
            {"model.reconstruction": "none"}}`.
        add_one_in: Whether there are also arms with no component, and with each one alone.
        baseline: What the base, with all components, is called.
    """

    kind: Literal["leave_one_out"] = "leave_one_out"
    components: Components
    add_one_in: bool = False
    baseline: str = "full"

    def rows(self, definition: Definition) -> Iterator[tuple[str, Row]]:
        """Yield the base, it without each component, with none, and with each alone."""
        yield self.baseline, {}
        for name, settings in self.components.items():
            yield f"without {name}", settings
        if self.add_one_in:
            yield "none of them", self._without(self.components)
            for name in self.components:
                yield f"only {name}", self._without(set(self.components) - {name})

    def _without(self, names: Any) -> Row:
        return {
            path: value
            for name, settings in self.components.items()
            if name in names
            for path, value in settings.items()
        }
