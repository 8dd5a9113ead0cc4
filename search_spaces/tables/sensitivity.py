"""The sensitivity tables and figures."""

from typing import Literal

from search_spaces.tables.declared import DeclaredTable, FileName


class SensitivityTable(DeclaredTable):
    """How much each searched setting matters, with its figures."""

    kind: Literal["sensitivity"] = "sensitivity"
    name: FileName = "sensitivity"
