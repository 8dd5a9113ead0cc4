"""Values, calls and settings as Python text, laid out as ruff formats them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from capsmodel.settings.parts import Part, Settings, home_of, is_built_in

_WIDTH = 88  # of ruff, where nothing else is said
_STEP = 4


@dataclass(frozen=True)
class Imported:
    """A name imported from a module, or an attribute of it: `QUICKSTART.base`.

    Attributes:
        module: The module; "" for a built-in.
        name: The name in the module.
        alias: The name in the file, if it differs.
        rest: What follows the name: ".base".
    """

    module: str
    name: str
    alias: str = ""
    rest: str = ""

    @property
    def text(self) -> str:
        """The name as an expression uses it."""
        return (self.alias or self.name) + self.rest


@dataclass(frozen=True)
class Call:
    """A call; its arguments may be calls."""

    called: Imported
    arguments: Sequence[Any] = ()
    named: Mapping[str, Any] = field(default_factory=dict[str, Any])


def python_text(value: Any, indent: int = 0, before: int = 0, after: int = 0) -> str:
    """Return an expression that evaluates to an equal value.

    Args:
        value: A JSON value, a tuple, a call or an imported name; these may be nested.
        indent: Indentation of its line.
        before: Number of characters before it on its line.
        after: Number of characters after it on its line.

    Raises:
        ValueError: If it is another value, or a number that is not finite.
    """
    line = _on_one_line(value)
    parts = _parts(value)
    if parts is None or indent + before + len(line) + after <= _WIDTH:
        return line
    opening, items, closing = parts
    inner = indent + _STEP
    lines = [
        " " * inner + lead + python_text(item, inner, len(lead), after=1) + ","
        for lead, item in items
    ]
    return "\n".join((opening, *lines, " " * indent + closing))


def imports_of(value: Any) -> Iterator[Imported]:
    """Yield the names that an expression imports."""
    if isinstance(value, Imported):
        yield value
    if isinstance(value, Call):
        yield value.called
    for _, item in (_parts(value) or ("", [], ""))[1]:
        yield from imports_of(item)


def import_lines(names: Iterator[Imported]) -> list[str]:
    """Return the import lines of names, one line per module."""
    by_module: dict[str, set[str]] = {}
    for one in names:
        if one.module:
            text = f"{one.name} as {one.alias}" if one.alias else one.name
            by_module.setdefault(one.module, set()).add(text)
    lines: list[str] = []
    for module in sorted(by_module):
        members = sorted(by_module[module])
        line = f"from {module} import {', '.join(members)}"
        if len(line) > _WIDTH:
            inside = "".join(f"{' ' * _STEP}{member},\n" for member in members)
            line = f"from {module} import (\n{inside})"
        lines.append(line)
    return lines


def _parts(value: Any) -> tuple[str, list[tuple[str, Any]], str] | None:
    """Return the opening bracket of a value, its items with their prefixes, and the closing one."""
    if isinstance(value, Call):
        items = [("", item) for item in value.arguments]
        items += [(f"{name}=", item) for name, item in value.named.items()]
        return f"{value.called.text}(", items, ")"
    if isinstance(value, Mapping):
        return "{", [(f"{_on_one_line(key)}: ", item) for key, item in value.items()], "}"
    if isinstance(value, tuple | list):
        opening, closing = ("(", ")") if isinstance(value, tuple) else ("[", "]")
        return opening, [("", item) for item in value], closing
    return None


def _on_one_line(value: Any) -> str:
    if parts := _parts(value):
        opening, items, closing = parts
        inside = ", ".join(lead + _on_one_line(item) for lead, item in items)
        return opening + inside + "," * (isinstance(value, tuple) and len(value) == 1) + closing
    if isinstance(value, Imported):
        return value.text
    if isinstance(value, str):
        return _quoted(value)
    if value is None or (isinstance(value, bool | int | float) and math.isfinite(value)):
        return repr(value).replace("e+", "e")  # as ruff writes exponents
    raise ValueError(f"There is no Python text for {value!r}: give a plain value.")


def _quoted(text: str) -> str:
    """Return a text in double quotes, or in single quotes if these need fewer escapes."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    body = repr(text)[1:-1]
    if "'" in text and '"' in text:
        body = body.replace("\\'", "'")  # there repr puts every ' behind a backslash
    return quote + body.replace(quote, f"\\{quote}") + quote


ImportedParts = Mapping[type[Part], Imported]
_NO_PARTS: ImportedParts = MappingProxyType({})


def settings_call(settings: Settings, parts: ImportedParts = _NO_PARTS) -> Call:
    """Return the call that makes settings: `CapsNet(conv_channels=64, ...)`.

    Args:
        settings: The settings.
        parts: Classes of a user's parts that the file contains -> how it refers to them.

    Raises:
        ValueError: If they contain another part of the user, which no file can import.
    """
    cls = type(settings)
    if (
        isinstance(settings, Part)
        and not is_built_in(type(settings))
        and type(settings) not in parts
    ):
        raise ValueError(
            f"The base has a part of the user's own ({cls.__name__}), which another file cannot "
            f"import: write the design into the file that defines it."
        )
    fields = {name: field for name, field in cls.model_fields.items() if name != "kind"}
    changed = {
        name: _written(getattr(settings, name), parts)
        for name, field in fields.items()
        if getattr(settings, name) != field.default
    }
    named = next((name for part, name in parts.items() if part is cls), None)
    return Call(named or Imported(home_of(cls), cls.__name__), named=changed)


def _written(value: Any, parts: ImportedParts) -> Any:
    return settings_call(value, parts) if isinstance(value, Settings) else value
