"""Plain values as Python text, laid out as ruff formats them."""

import math
from collections.abc import Mapping
from typing import Any

from capsmodel.settings.parts import Settings

_WIDTH = 88  # of ruff, where nothing else is said
_STEP = 4


def python_text(value: Any, indent: int = 0, before: int = 0) -> str:
    """Return an expression that evaluates to an equal value, for a line that a comma ends.

    Args:
        value: A JSON value, a tuple, a range, a class of the file or settings of one; these may be
            nested.
        indent: Indentation of its line.
        before: Number of characters before it on its line.

    Raises:
        ValueError: If it is another value, or a number that is not finite.
    """
    line = _on_one_line(value)
    if (
        not isinstance(value, Mapping | tuple | list | Settings)
        or len(line) < _WIDTH - indent - before
    ):
        return line
    inner = indent + _STEP
    lines = [
        " " * inner + key + python_text(item, inner, len(key)) + "," for key, item in _items(value)
    ]
    opening = f"{type(value).__name__}(" if isinstance(value, Settings) else line[0]
    return "\n".join((opening, *lines, " " * indent + line[-1]))


def _on_one_line(value: Any) -> str:
    if isinstance(value, Mapping | tuple | list | Settings):
        items = ", ".join(key + _on_one_line(item) for key, item in _items(value))
        if isinstance(value, Mapping):
            return f"{{{items}}}"
        if isinstance(value, Settings):
            return f"{type(value).__name__}({items})"
        return f"[{items}]" if isinstance(value, list) else f"({items}{',' * (len(value) == 1)})"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, type):
        return value.__name__
    is_number = isinstance(value, bool | int | float) and math.isfinite(value)
    if value is None or is_number or isinstance(value, range):
        return repr(value).replace("e+", "e")  # as ruff writes exponents
    raise ValueError(f"There is no Python text for {value!r}: give a plain value.")


def _items(value: Any) -> list[tuple[str, Any]]:
    """Return the items of a collection, each with the text before it."""
    if isinstance(value, Mapping):
        return [(f"{_on_one_line(key)}: ", item) for key, item in value.items()]
    if isinstance(value, Settings):
        given = [name for name in type(value).model_fields if name in value.model_fields_set]
        return [(f"{name}=", getattr(value, name)) for name in given]
    return [("", item) for item in value]


def _quoted(text: str) -> str:
    """Return a text in double quotes, or in single quotes if these need fewer escapes."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    body = repr(text)[1:-1]
    if "'" in text and '"' in text:
        body = body.replace("\\'", "'")  # there repr puts every ' behind a backslash
    return quote + body.replace(quote, f"\\{quote}") + quote
