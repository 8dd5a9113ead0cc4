"""The part of docs/json.md that is made of the shapes; python -m tests.sweeps.cli.json_page."""

from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from sweeps.cli import answers as module
from sweeps.cli.answers import Shape

PAGE = Path(__file__).parents[3] / "docs" / "json.md"
HEADING = "## Shapes\n\n"
_NAMES = {str: "text", int: "integer", float: "number", bool: "boolean", type(None): "null"}


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
    lines = [f"### {answer.model_fields['format'].default}", "", " ".join(_words(answer)), ""]
    lines += ["| field | type | what it is |", "|---|---|---|"]
    lines += [f"| `{path}` | {kind} | {words} |" for path, kind, words in _rows(answer, "")]
    return "\n".join([*lines, ""])


def _words(shape: type[Shape]) -> list[str]:
    return (shape.__doc__ or "").split()


def _rows(shape: type[Shape], before: str) -> Iterator[tuple[str, str, str]]:
    for name, field in shape.model_fields.items():
        if name == "format":
            continue
        words = " ".join((field.description or "").split())
        assert words, f"{shape.__name__}.{name} has no words"
        yield f"{before}{name}", _kind(field.annotation), words
        for inner in _inner(field.annotation):
            is_list = get_origin(field.annotation) is tuple
            yield from _rows(inner, f"{before}{name}{'[]' * is_list}.")


def _inner(kind: Any) -> list[type[Shape]]:
    if isinstance(kind, type) and issubclass(kind, Shape):
        return [kind]
    return [inner for part in get_args(kind) for inner in _inner(part)]


def _kind(kind: Any) -> str:
    parts = get_args(kind)
    if get_origin(kind) in {Union, UnionType}:
        return " or ".join(map(_kind, parts))
    if get_origin(kind) is tuple:
        return f"list of {_kind(parts[0])}s"
    if get_origin(kind) is dict:
        return "object"
    if parts:
        return "text"  # one of several
    return "object" if issubclass(kind, Shape) else _NAMES[kind]


if __name__ == "__main__":
    before, _, _ = PAGE.read_text(encoding="utf-8").partition(HEADING)
    PAGE.write_text(before + HEADING + shapes_page(), encoding="utf-8")
