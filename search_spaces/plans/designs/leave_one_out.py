"""A design that leaves out one component at a time."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from search_spaces.plans.base import Definition
from search_spaces.plans.designs.factors import FactorDesign, Row
from search_spaces.tables import AblationTable, ComponentsTable, Table

Components = Annotated[Mapping[str, Mapping[str, Any]], Field(min_length=1)]


class LeaveOneOut(FactorDesign):
    """Leave one component out at a time, and on request add one in at a time.

    Leaving out shows what each component is worth when all others are present: two components that
    do the same work both look worthless. Adding in shows what each is worth alone, and so finds
    such pairs, for twice the arms. Neither shows how components work together in between.

    Attributes:
        components: Name -> settings that leave it out, path -> value: `{"reconstruction":
            {"model.reconstruction": "none"}}`.
        add_one_in: Whether there are also arms with no component, and with each one alone.
        baseline: Name of the base, which has all components.
    """

    kind: Literal["leave_one_out"] = "leave_one_out"
    components: Components
    add_one_in: bool = False
    baseline: str = "full"

    def rows(self, definition: Definition) -> Iterator[tuple[str, Row]]:
        """Yield the base, the base without each component, without any, and with each alone."""
        for name, present in self._rows_of_components():
            yield name, self._without(set(self.components) - set(present))

    def default_tables(self) -> tuple[Table, ...]:
        """Return the ablation table and the table of components."""
        return (AblationTable(), ComponentsTable())

    def check_table(self, table: Table) -> None:
        """Check a table as other designs do, but allow the table of components."""
        if table.kind != "components":
            super().check_table(table)

    def manifest_fields(self, definition: Definition) -> dict[str, Any]:
        """Return also which components each arm has."""
        fields = super().manifest_fields(definition)
        arms = self.built_arms(definition).arms
        present = {arm: names for arm, names in self._rows_of_components() if arm in arms}
        return {**fields, "design": {**fields["design"], "components": present}}

    def _rows_of_components(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        everything = tuple(self.components)
        yield self.baseline, everything
        for name in everything:
            yield (
                f"without {name}",
                tuple(component for component in everything if component != name),
            )
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
