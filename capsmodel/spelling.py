"""Names: the shortest ends of paths, lists with reasons, messages about unknown names."""

import difflib
from collections.abc import Iterable, Mapping, Sequence

_MOST_PATHS = 3


def unknown(category: str, name: str, known: Iterable[str], below: Sequence[str] = ()) -> str:
    """Return the message for an unknown name, with the nearest name and all known ones.

    Args:
        category: What the name should be, such as "setting of the routing 'em'".
        name: The name that was given.
        known: The names that are allowed.
        below: Longer paths, one of which may be meant by its end alone.
    """
    names = list(known)
    near = _hint_of_ends(name, below, 1.0) or hint(name, names) or _hint_of_ends(name, below, 0.75)
    kind, of, owner = category.partition(" of ")
    return f"Unknown {kind} '{name}'{of}{owner}.{near} Known: {', '.join(names) or 'none'}."


def hint(name: str, known: Iterable[str]) -> str:
    """Return a hint at the nearest name, after a space, or "" if no name is near."""
    near = _nearest(name, list(known))
    return f" Did you mean '{near[0]}'?" if near else ""


def _nearest(name: str, known: Sequence[str], least: float = 0.6) -> list[str]:
    """Return the nearest name, or one with these initials: `lr` is near to `learning_rate`."""
    if near := difflib.get_close_matches(name, known, n=1, cutoff=least):
        return near
    return [other for other in known if "_" in other and _initials(other) == name][:1]


def _initials(name: str) -> str:
    return "".join(word[:1] for word in name.split("_"))


def _hint_of_ends(name: str, paths: Sequence[str], least: float) -> str:
    """Return a hint at the few paths whose last step is nearest to a name."""
    ends = {path: path.rpartition(".")[2] for path in paths}
    near = _nearest(name, [*dict.fromkeys(ends.values())], least)
    meant = [f"'{path}'" for path, end in ends.items() if end in near][:_MOST_PATHS]
    return f" Did you mean {' or '.join(meant)}?" if meant else ""


def names_by_reason(reasons: Mapping[str, str], most: int) -> str:
    """Return names with their reasons: "'a', 'b' (too large); 'c' (too small); and 2 more".

    Args:
        reasons: Name -> reason; of several, what they advise after a colon is left out.
        most: How many names are listed.
    """
    is_one = len({*reasons.values()}) == 1
    listed: dict[str, list[str]] = {}
    for name, reason in list(reasons.items())[:most]:
        shown = reason if is_one else reason.partition(": ")[0]
        listed.setdefault(shown.rstrip("."), []).append(f"'{name}'")
    texts = [f"{', '.join(names)} ({reason})" for reason, names in listed.items()]
    more = len(reasons) - most
    return "; ".join([*texts, *([f"and {more} more"] if more > 0 else [])])


def words_of(error: BaseException) -> str:
    """Return the message of an exception, also if its `__str__` raises."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - whatever a user's own class raises there
        return "it says nothing, as its __str__ raises"


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Return the shortest ends of paths that distinguish them: `model.pose_size` -> `pose_size`."""
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
