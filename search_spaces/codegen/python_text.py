"""Values, calls and settings as Python text, laid out as ruff formats them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from capsmodel.settings.home import home_of
from capsmodel.settings.parts import Part, Settings, is_built_in

_WIDTH = 88  # of ruff, where nothing else is said


_STEP = 4


@dataclass(frozen=True)
class Imported:
    """A name from a module, or what follows it: `QUICKSTART.base`.

    Attributes:
        module: Where it is from; "" for a built-in.
        name: There.
        alias: What the file calls it, if otherwise.
        rest: What is said of it: ".base".
    """

    module: str
    name: str
    alias: str = ""
    rest: str = ""

    @property
    def text(self) -> str:
        """As it stands in an expression."""
        return (self.alias or self.name) + self.rest


@dataclass(frozen=True)
class Call:
    """A call, whose arguments may be calls."""

    called: Imported
    arguments: Sequence[Any] = ()
    named: Mapping[str, Any] = field(default_factory=dict[str, Any])


def python_text(value: Any, indent: int = 0, before: int = 0, after: int = 0) -> str:
    """Return a value as an expression that gives an equal value.

    Args:
        value: A plain value as JSON has it, a tuple, a call or a name; or any of these in another.
        indent: Of the line that it stands in.
        before: Characters in front of it there.
        after: Characters behind it there.

    Raises:
        ValueError: If it is none of these, or a number that is not finite.
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
    """Yield the names that an expression takes from modules."""
    if isinstance(value, Imported):
        yield value
    if isinstance(value, Call):
        yield value.called
    for _, item in (_parts(value) or ("", [], ""))[1]:
        yield from imports_of(item)


def import_lines(names: Iterator[Imported]) -> list[str]:
    """Return the lines that import names, by module, each once."""
    by_module: dict[str, set[str]] = {}
    for one in names:
        if one.module:
            told = f"{one.name} as {one.alias}" if one.alias else one.name
            by_module.setdefault(one.module, set()).add(told)
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
    """Return what a value opens with, its items with what leads each, and what closes it."""
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
    """Return a text in double quotes, in single ones where that needs fewer escapes."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    body = repr(text)[1:-1]
    if "'" in text and '"' in text:
        body = body.replace("\\'", "'")  # there repr puts every ' behind a backslash
    return quote + body.replace(quote, f"\\{quote}") + quote


Own = Mapping[type[Part], Imported]


_NO_OWN: Own = MappingProxyType({})


def settings_call(settings: Settings, own: Own = _NO_OWN) -> Call:
    """Return the call that gives settings: `CapsNet(conv_channels=64, ...)`.

    Args:
        settings: To be written.
        own: A user's own parts that the file has -> how it names them.

    Raises:
        ValueError: If one of them is another part of a user's own, which no file can import.
    """
    cls = type(settings)
    if isinstance(settings, Part) and not is_built_in(type(settings)) and type(settings) not in own:
        raise ValueError(
            f"The base has a part of the user's own ({cls.__name__}), which another file cannot "
            f"import: write the design into the file that defines it."
        )
    fields = {name: field for name, field in cls.model_fields.items() if name != "kind"}
    changed = {
        name: _written(getattr(settings, name), own)
        for name, field in fields.items()
        if getattr(settings, name) != field.default
    }
    named = next((name for part, name in own.items() if part is cls), None)
    return Call(named or Imported(home_of(cls), cls.__name__), named=changed)


def _written(value: Any, own: Own) -> Any:
    return settings_call(value, own) if isinstance(value, Settings) else value
