"""Parsers of command-line arguments."""

import json
import re
from typing import Any

from sweeps.records.errors import BadInput

_DURATION = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?|(\d{1,6})")
_UNITS = (86_400, 3600, 60, 1, 1)
_MOST_SEEDS = 10_000


def read_seeds(option: str, text: str | None) -> tuple[int, ...] | None:
    """Return the seeds of a list with ranges: "0,1,2" or "0-4". A lone number is that seed.

    Raises:
        BadInput: If there is none, or a word is neither a number nor a range.
    """
    if text is None:
        return None
    seeds: list[int] = []
    parts = [part.strip() for part in text.strip().removesuffix(",").split(",")]
    for word in parts if any(parts) else ():
        match = re.fullmatch(r"([0-9]{1,18})(?:-([0-9]{1,18}))?", word)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first:
            raise BadInput(
                f"{option} takes a list and ranges of seeds, such as 0,1,2 or 0-4, got '{word}'."
            )
        if last - first >= _MOST_SEEDS:
            raise BadInput(f"{option} takes at most {_MOST_SEEDS} seeds, got '{word}'.")
        seeds += range(first, last + 1)
    if not seeds:
        raise BadInput(f"{option} needs at least one seed, such as 0,1,2 or 0-4, got '{text}'.")
    if len(set(seeds)) != len(seeds):
        raise BadInput(f"{option} lists a seed twice: '{text}'.")
    return tuple(seeds)


def read_tags(tags: list[str] | None) -> tuple[str, ...] | None:
    """Return the tags that were given; an empty one alone means none, no option no change."""
    return None if not tags else () if tags == [""] else tuple(tags)


def read_settings(assignments: list[str] | None) -> dict[str, Any]:
    """Return path -> value of `path=value` words. A value is JSON, or else a text.

    Raises:
        BadInput: If a word is no assignment, or a path is set twice.
    """
    settings: dict[str, Any] = {}
    for assignment in assignments or []:
        path, equals, text = assignment.partition("=")
        path = path.strip()
        if not equals or not path:
            raise BadInput(f"--set takes path=value, such as batch_size=64, got '{assignment}'.")
        if path in settings:
            raise BadInput(f"--set sets '{path}' twice: give it once.")
        settings[path] = _value(text)
    return settings


def read_factors(assignments: list[str]) -> dict[str, tuple[Any, ...]]:
    """Return path -> levels of `path=level,level` words. A level is JSON, or else a text.

    Raises:
        BadInput: If a word names no levels or an empty one, or a path twice.
    """
    factors: dict[str, tuple[Any, ...]] = {}
    for word in assignments:
        path, equals, text = word.partition("=")
        path, levels = path.strip(), [level.strip() for level in _split(text)]
        if not equals or not path or not all(levels):
            raise BadInput(
                f"A factor is path=level,level, such as model.routing.iterations=1,2,3, got "
                f"'{word}'."
            )
        if path in factors:
            raise BadInput(f"The factor '{path}' is given twice: give all of its levels at once.")
        factors[path] = tuple(map(_value, levels))
    return factors


def read_duration(option: str, text: str | None) -> float | None:
    """Return the seconds of "90s", "30m", "2h", "1h30m" or "30d".

    Raises:
        BadInput: If it is none, or zero.
    """
    if text is None:
        return None
    match = _DURATION.fullmatch(text.strip())
    counts = match.groups() if match else ("0",) * len(_UNITS)
    total = sum(unit * int(word or 0) for unit, word in zip(_UNITS, counts, strict=True))
    if not total:
        raise BadInput(f"{option} takes a time such as 90s, 30m, 2h, 1h30m or 30d, got '{text}'.")
    return float(total)


def read_gpus(option: str, text: str | None) -> float | str | None:
    """Return a number of GPUs, or "auto".

    Raises:
        BadInput: If it is neither.
    """
    if text is None or text.strip() == "auto":
        return text and "auto"
    try:
        return float(text)
    except ValueError:
        raise BadInput(
            f"{option} takes a number of GPUs, such as 1 or 0.25, or auto, got '{text}'."
        ) from None


def _split(text: str) -> list[str]:
    """Return what stands between commas that are not inside of a JSON list, object or text."""
    items, depth, is_quoted, is_escaped = [""], 0, False, False
    for letter in text:
        if letter == "," and depth <= 0 and not is_quoted:
            items.append("")
            continue
        items[-1] += letter
        if letter == '"' and not is_escaped:
            is_quoted = not is_quoted
        is_escaped = letter == "\\" and not is_escaped
        if not is_quoted:
            depth += (letter in "[{") - (letter in "]}")
    return items


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
