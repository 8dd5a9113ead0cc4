"""The table of effects."""

from typing import Literal

from search_spaces.tables.declared import DeclaredTable, FileName


class EffectsTable(DeclaredTable):
    """What each factor of a design does to the test error, and each two of them together."""

    kind: Literal["effects"] = "effects"
    name: FileName = "effects"
