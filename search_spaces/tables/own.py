"""A user's own kind of table or figure, in the sweep's file."""

from abc import ABC, abstractmethod
from typing import Any

from pydantic import ConfigDict

from search_spaces.tables.declared import DeclaredTable, Text


class OwnTable(DeclaredTable, ABC):
    """A table or figure whose maker is one of its own methods.

    The sweep's manifest holds it as plain JSON. To make it again its class is needed, so that
    the sweep's file is given where a report is rebuilt: nothing is imported because a record
    says so.

    Attributes:
        kind: A word of its own: `kind: Literal["worst"] = "worst"`.
        name: Of its files: `name: str = "worst"`.
    """

    @abstractmethod
    def make(self, results: Any) -> Any:
        """Return a `sweeps.Section` of tables and figures.

        Args:
            results: A `sweeps.Results`: the manifest, the records, and histories to ask for.
        """


class UnknownTable(DeclaredTable):
    """A declaration of a kind that is not the package's, as plain JSON."""

    model_config = ConfigDict(extra="allow")

    kind: Text
