"""A sweep file's text with some of its sweep's arguments changed, and nothing else."""

import ast
from collections.abc import Mapping
from typing import NamedTuple

_NAME = "SWEEP"


class _Edit(NamedTuple):
    """What takes the place of some bytes of the file."""

    start: int
    end: int
    text: str


def with_arguments(content: bytes, arguments: Mapping[str, str], before: str) -> bytes:
    """Return a file's content with arguments of `SWEEP = Sweep(...)` as they are given.

    All other bytes stay: places come from the syntax tree.

    Args:
        content: Of a file that Python can read.
        arguments: Name -> Python expression.
        before: An argument that is written there; new ones are put before it.

    Raises:
        ValueError: In half a sentence, if the file does not write its sweep so.
    """
    starts = _line_starts(content)
    call = _call(ast.parse(content))
    written = {keyword.arg: keyword for keyword in call.keywords if keyword.arg}
    if before not in written:
        raise ValueError(f"does not write {before}=... among the arguments of {_NAME}")
    first = written[before]
    place = starts[first.lineno - 1] + first.col_offset
    indent = content[starts[first.lineno - 1] : place]
    between = " " if indent.strip() else _line_end(content) + indent.decode()

    def edit(name: str, value: str) -> _Edit:
        if name not in written:
            return _Edit(place, place, f"{name}={value},{between}")
        node = written[name].value
        start = starts[node.lineno - 1] + node.col_offset
        return _Edit(start, starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0), value)

    edits = [edit(name, value) for name, value in arguments.items()]
    for one in sorted(edits, reverse=True):
        content = content[: one.start] + one.text.encode() + content[one.end :]
    return content


def _call(tree: ast.Module) -> ast.Call:
    """Return the call that the file's sweep is made by."""
    values = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and _NAME in _targets(node)
    ]
    call = values[-1] if values else None
    if not isinstance(call, ast.Call) or _called(call.func) != "Sweep":
        raise ValueError(f"does not write its sweep as {_NAME} = Sweep(...)")
    return call


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _called(function: ast.expr) -> str:
    """Return the last word of a function's name."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _line_starts(content: bytes) -> list[int]:
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _line_end(content: bytes) -> str:
    return "\r\n" if b"\r\n" in content else "\n"
