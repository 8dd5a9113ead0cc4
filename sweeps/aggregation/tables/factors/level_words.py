"""Levels of factors in words."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from sweeps.records.plain_text import one_line, shortened

ARROW = "\N{RIGHTWARDS ARROW}"
_LONGEST = 40


def level_words(levels: Sequence[Any]) -> tuple[str, ...]:
    """Return each level in words, a part by its kind and by what sets it apart from others of it.

    Args:
        levels: Of one factor, as plain JSON values.
    """
    return tuple(shortened(_words(level, levels), _LONGEST) for level in levels)


def change_words(levels: Sequence[Any]) -> str:
    """Return what varies: `dynamic → uniform` of two levels, `1, 2, 3` of more."""
    words = level_words(levels)
    return f" {ARROW} ".join(words) if len(words) == 2 else ", ".join(words)


def is_off(level: Any) -> bool:
    """Return whether a level says that something is not there."""
    if isinstance(level, Mapping):
        return cast(Mapping[str, Any], level).get("kind") == "none"
    return level is None or level is False or level == "none"


def _words(level: Any, levels: Sequence[Any]) -> str:
    if isinstance(level, Mapping):
        return _part_words(cast(Mapping[str, Any], level), levels)
    if isinstance(level, bool):
        return str(level).lower()
    if isinstance(level, list | tuple):
        return ", ".join(_words(one, ()) for one in cast(Sequence[Any], level)) or "none"
    return "none" if level is None else one_line(str(level))


def _part_words(part: Mapping[str, Any], levels: Sequence[Any]) -> str:
    kind = part.get("kind")
    parts = [cast(Mapping[str, Any], level) for level in levels if isinstance(level, Mapping)]
    alike = [other for other in parts if other.get("kind") == kind]
    apart = [
        f"{name} {_words(value, ())}"
        for name, value in part.items()
        if name != "kind" and any(other.get(name) != value for other in alike)
    ]
    words = ", ".join(apart)
    if kind is None:
        return words
    return f"{kind} ({words})" if words else str(kind)
