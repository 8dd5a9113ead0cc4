"""Names: the shortest that tell paths apart, and sentences about those that are not known."""

import difflib
from collections.abc import Iterable, Sequence


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


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Return the shortest ends of paths that tell them apart: `model.pose_size` -> `pose_size`."""
    distinct = dict.fromkeys(paths)
    names: dict[str, str] = {}
    for path in distinct:
        steps = path.split(".")
        ends = (".".join(steps[-length:]) for length in range(1, len(steps) + 1))
        others = [f".{other}" for other in distinct if other != path]
        names[path] = next(
            (end for end in ends if not any(o.endswith(f".{end}") for o in others)), path
        )
    return names
