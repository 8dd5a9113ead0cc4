"""The table of evaluations."""

from typing import Literal

from search_spaces.tables.declared import DeclaredTable, FileName


class EvaluationsTable(DeclaredTable):
    """What the sweep's evaluations found, by arm. A sweep that declares any has one anyway."""

    kind: Literal["evaluations"] = "evaluations"
    name: FileName = "evaluations"
