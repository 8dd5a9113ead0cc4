"""Sentences about names that are not known."""

import difflib
from collections.abc import Iterable


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Say that a name is not known, with the nearest one and all that are."""
    names = list(known)
    return f"Unknown {what} '{name}'.{hint(name, names)} Known: {', '.join(names) or 'none'}."


def hint(name: str, known: Iterable[str]) -> str:
    """Ask after the name that is nearest, with a blank before it; "" where none is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean '{near[0]}'?" if near else ""


def words_of(error: BaseException) -> str:
    """Return what an exception says, which is nothing where its class cannot even be asked."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - whatever a user's own class raises there
        return "it says nothing, as its __str__ raises"
