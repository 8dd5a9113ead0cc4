"""The ablation table."""

from typing import Literal

from search_spaces.tables.declared import DeclaredTable, FileName


class AblationTable(DeclaredTable):
    """Test error of each arm, and its difference from the baseline.

    Attributes:
        name: Of its files, as in every table and figure.
    """

    kind: Literal["ablation"] = "ablation"
    name: FileName = "ablation"
