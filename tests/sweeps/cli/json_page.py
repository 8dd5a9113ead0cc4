"""The part of docs/json.md that is made of the shapes; python -m tests.sweeps.cli.json_page."""

import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from sweeps.cli import answers as module
from sweeps.cli.answers import Shape

PAGE = Path(__file__).parents[3] / "docs" / "json.md"
HEADING = "## Shapes\n\n"
_ATTRIBUTE = re.compile(r"^ {8}(\w+): (.*(?:\n {12}.*)*)", re.MULTILINE)  # of a docstring
_NAMES = {int: "integer", float: "number", bool: "boolean", type(None): "null"}


def answers() -> list[type[Shape]]:
    """Return the shapes of whole answers, in the order of the page."""
    return [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Shape) and "format" in kind.model_fields
        if kind.__module__ == module.__name__
    ]


def shapes_page() -> str:
    return "\n".join(_section(answer) for answer in answers())


def _section(answer: type[Shape]) -> str:
    lines = [
        f"### {answer.model_fields['format'].default}",
        "",
        " ".join((answer.__doc__ or "").split()),
        "",
    ]
    lines += ["| field | type | what it is |", "|---|---|---|"]
    lines += [
        f"| `{path}` | {kind} | {description} |" for path, kind, description in _rows(answer, "")
    ]
    return "\n".join([*lines, ""])


def _rows(shape: type, before: str) -> Iterator[tuple[str, str, str]]:
    for name, kind, description in _fields(shape):
        assert description, f"{shape.__name__}.{name} has no description"
        yield f"{before}{name}", _kind(kind), description
        for inner in _inner(kind):
            yield from _rows(inner, f"{before}{name}{'[]' * (get_origin(kind) is tuple)}.")


def _fields(shape: type) -> Iterator[tuple[str, Any, str]]:
    """Yield name, type and words of each field, which a value's docstring has."""
    described = dict(_ATTRIBUTE.findall((shape.__doc__ or "").replace("None", "null")))
    if issubclass(shape, Shape):
        described = {name: field.description for name, field in shape.model_fields.items()}
    names = getattr(shape, "model_fields", None) or shape.__dataclass_fields__
    kinds = get_type_hints(shape)
    for name in names:
        if name != "format":
            yield name, kinds[name], " ".join((described.get(name) or "").split())


def _inner(kind: Any) -> list[type]:
    if isinstance(kind, type) and (issubclass(kind, BaseModel) or is_dataclass(kind)):
        return [kind]
    return [inner for part in get_args(kind) for inner in _inner(part)]


def _kind(kind: Any) -> str:
    parts = get_args(kind)
    if get_origin(kind) in {Union, UnionType}:
        return " or ".join(map(_kind, parts))
    if get_origin(kind) is tuple:
        return f"list of {_kind(parts[0])}s"
    if get_origin(kind) is dict or _inner(kind):
        return "object"
    if parts or issubclass(kind, str):
        return "text"  # one of several
    return _NAMES[kind]


if __name__ == "__main__":
    before, _, _ = PAGE.read_text(encoding="utf-8").partition(HEADING)
    PAGE.write_text(before + HEADING + shapes_page(), encoding="utf-8")
