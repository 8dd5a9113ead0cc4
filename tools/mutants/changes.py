"""What a mutant changes: one expression or statement of a function of the packages.

It is named by module, function and the text of its lines, not by their numbers.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

PACKAGES = ("capsmodel", "search_spaces", "sweeps")
TURNED: dict[type[ast.cmpop], str] = {
    ast.Lt: ">=",
    ast.GtE: "<",
    ast.Gt: "<=",
    ast.LtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
OTHER: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.Pow: "*",
    ast.FloorDiv: "*",
}
OPPOSITE: dict[type[ast.boolop], str] = {ast.And: "or", ast.Or: "and"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Change(NamedTuple):
    """A statement as it is and as a mutant has it; `number` counts equal ones in a function."""

    module: str
    function: str
    text: str
    mutated: str
    number: int


def changed(node: ast.AST, source: str) -> tuple[ast.expr | ast.stmt, str] | None:
    """Return what of an expression or statement is replaced, and what a mutant has in its place."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return node, between(TURNED[type(operator)], (left, right), source)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OTHER:
            return node, between(OTHER[type(operator)], (left, right), source)
        case ast.BoolOp(op=operator, values=values):
            return node, between(OPPOSITE[type(operator)], values, source)
        case ast.Constant(value=int() | float() as value):
            return node, str(not value) if isinstance(value, bool) else f"({value + 1!r})"
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            return test, f"(not ({ast.get_source_segment(source, test)}))"
        case ast.Return(value=value) if value is not None and not is_none(value):
            return node, "return None"
        case ast.Expr(value=ast.Call()):
            return node, "None"
        case _:
            return None


def between(word: str, parts: Iterable[ast.AST], source: str) -> str:
    """Return expressions with an operator's word between them, all of it in brackets."""
    texts = (f"({ast.get_source_segment(source, part)})" for part in parts)
    return f"({f' {word} '.join(texts)})"


def is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def functions_of(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Yield each function or method with its name, those inside others as part of them."""
    for node in tree.body:
        if isinstance(node, Function):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, Function):
                    yield f"{node.name}.{inner.name}", inner


def changes_of(module: str, source: str) -> Iterator[tuple[Change, str]]:
    """Yield each change that can be made in a module, with the module's whole text after it."""
    whole = source.encode()
    starts = [0, *accumulate(map(len, whole.splitlines(keepends=True)))]
    for name, function in functions_of(ast.parse(source)):
        seen: Counter[tuple[str, str]] = Counter()
        for node in (node for statement in function.body for node in ast.walk(statement)):
            made = changed(node, source)
            if made is None:
                continue
            place, new = made
            begin = starts[place.lineno - 1] + place.col_offset
            last_line, last_column = place.end_lineno, place.end_col_offset
            assert last_line is not None, name
            assert last_column is not None, name
            end = starts[last_line - 1] + last_column
            first, last = starts[place.lineno - 1], starts[last_line]
            text = whole[first:last].decode().strip()
            mutated = (whole[first:begin] + new.encode() + whole[end:last]).decode().strip()
            yield (
                Change(module, name, text, mutated, seen[text, mutated]),
                (whole[:begin] + new.encode() + whole[end:]).decode(),
            )
            seen[text, mutated] += 1


def modules_of(tree: Path) -> dict[str, Path]:
    """Return the files of the packages by the names of their modules."""
    return {
        ".".join(path.relative_to(tree).with_suffix("").parts).removesuffix(".__init__"): path
        for package in PACKAGES
        for path in sorted((tree / package).rglob("*.py"))
    }


def source_after(change: Change, modules: dict[str, Path]) -> tuple[str, str] | None:
    """Return the module that has a change's lines, moved or not, and its text after the change."""
    for module in sorted(modules, key=lambda module: module != change.module):
        for candidate, after in changes_of(module, modules[module].read_text()):
            if candidate[1:] == change[1:]:
                return module, after
    return None
