"""The table and figure of a search with two objectives."""

from typing import Literal

from search_spaces.tables.declared import DeclaredTable, FileName


class FrontTable(DeclaredTable):
    """The proposals that none is better than in objective and cost, beside all others."""

    kind: Literal["front"] = "front"
    name: FileName = "front"
