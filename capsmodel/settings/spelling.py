"""Sentences about names that are not known."""

import difflib
from collections.abc import Iterable


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Say that a name is not known, with the nearest one and all that are."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"Unknown {what} '{name}'.{hint} Known: {', '.join(names) or 'none'}."
