"""Names of arms: what records, files and their readers can hold."""

import unicodedata
from collections.abc import Collection

MISSING = frozenset(  # what pandas reads as no value
    (
        *("NA", "N/A", "n/a", "<NA>", "#N/A", "#NA", "#N/A N/A", "NaN", "nan", "-NaN", "-nan"),
        *("NULL", "null", "None", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"),
    )
)
LONGEST = 200
"""Characters of a name, as records hold it."""


def refuse_arm_names(names: Collection[str]) -> None:
    """Refuse names that no record can hold, or that a file's reader would take for others.

    Raises:
        ValueError: Naming the first.
    """
    for name in names:
        if any(unicodedata.category(letter) in {"Cc", "Cs"} for letter in name):
            raise ValueError(f"An arm's name is one line of plain text, got {name!r}.")
        if not 0 < len(name) <= LONGEST:
            raise ValueError(
                f"An arm's name has 1 to {LONGEST} characters, got {len(name)}: '{name}'."
            )
        if name != " ".join(name.split()):
            raise ValueError(
                f"An arm's name has no space at its ends nor two in a row, got {name!r}: files "
                f"would hold another name."
            )
        if name in MISSING:
            raise ValueError(
                f"An arm cannot be called {name!r}: whoever reads its table takes that for a "
                f"missing value. Call it otherwise."
            )
