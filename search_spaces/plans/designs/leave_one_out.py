"""The whole, and the whole without each of its components."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from search_spaces.plans.base import Definition
from search_spaces.plans.designs.factors import FactorDesign, Row
from search_spaces.tables import AblationTable, ComponentsTable, Table

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
        for name, kept in self._rows_of_components():
            yield name, self._without(set(self.components) - set(kept))

    def default_tables(self) -> tuple[Table, ...]:
        """Return the ablation table, and which component is in which arm."""
        return (AblationTable(), ComponentsTable())

    def refuse_table(self, table: Table) -> None:
        """Refuse what other designs refuse, but for the table of its components."""
        if table.kind != "components":
            super().refuse_table(table)

    def manifest_fields(self, definition: Definition) -> dict[str, Any]:
        """Return also which components each arm has."""
        fields = super().manifest_fields(definition)
        arms = self.built(definition).arms
        kept = {arm: names for arm, names in self._rows_of_components() if arm in arms}
        return {"design": {**fields["design"], "components": kept}}

    def _rows_of_components(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        everything = tuple(self.components)
        yield self.baseline, everything
        for name in everything:
            yield f"without {name}", tuple(one for one in everything if one != name)
        if self.add_one_in:
            yield "none of them", ()
            for name in everything:
                yield f"only {name}", (name,)

    def _without(self, names: Any) -> Row:
        return {
            path: value
            for name, settings in self.components.items()
            if name in names
            for path, value in settings.items()
        }
