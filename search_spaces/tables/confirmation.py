"""The confirmation table."""

from typing import Literal

from search_spaces.tables.declared import DeclaredTable, FileName


class ConfirmationTable(DeclaredTable):
    """The best arms of a search on seeds that had no part in choosing them."""

    kind: Literal["confirmation"] = "confirmation"
    name: FileName = "confirmation"
