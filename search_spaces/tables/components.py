"""The table of components."""

from typing import Literal

from search_spaces.tables.declared import DeclaredTable, FileName


class ComponentsTable(DeclaredTable):
    """Which component is in which arm, with its test error and difference from the baseline."""

    kind: Literal["components"] = "components"
    name: FileName = "components"
