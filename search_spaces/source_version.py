"""The version of a custom part: a hash of its code without comments and docstrings."""

import ast
import hashlib
import json
import symtable
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any


def part_version(text: str, class_name: str) -> str:
    """Return 16 hexadecimal digits that change with a class or anything in its file that it uses.

    Comments, docstrings, formatting and the rest of the file (arms, seeds) do not enter.

    Args:
        text: The file's source.
        class_name: A class at the top level of the file.
    """
    definitions = _definitions(_parsed(text))
    reached = _reached(class_name, definitions)
    tree = {name: plain_statements(definitions[name]) for name in sorted(reached)}
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()[:16]


def reached_statements(text: str, class_names: Sequence[str]) -> list[ast.stmt]:
    """Return the statements of a file that decide the versions of some classes, in order.

    Args:
        text: The file's source.
        class_names: Classes at the top level of the file.
    """
    module = _parsed(text)
    definitions = _definitions(module)
    names = {name for start in class_names for name in _reached(start, definitions)}
    reached = {id(statement) for name in names for statement in definitions[name]}
    return [statement for statement in module.body if id(statement) in reached]


def acting_statements(text: str) -> list[list[ast.stmt]]:
    """Return each statement of a file that acts on every class in it, with what it reads.

    Nothing reads a name that it binds, and it is no value: a call, an import for what it does or of
    all that a module holds, an attribute that is set deep in a module, a decorated function, and a
    condition or loop around these. What runs only as a program is left out. Of what it reads, parts
    and the sweep itself are not followed: they have versions and keys of their own.

    Args:
        text: The file's source.
    """
    module = _parsed(text)
    definitions = _definitions(module)
    followed = {
        name: statements
        for name, statements in definitions.items()
        if name != "SWEEP" and not any(map(_is_part, statements))
    }
    groups: list[list[ast.stmt]] = []
    reads = [_names_read(statement) for statement in module.body]
    num_readers = Counter(name for names in reads for name in names)
    for statement, names in zip(module.body, reads, strict=True):
        used_elsewhere = {name for name, number in num_readers.items() if number > (name in names)}
        if not _acts(statement, used_elsewhere):
            continue
        reached = {name for start in names & {*followed} for name in _reached(start, followed)}
        wanted = {id(definition) for name in reached for definition in followed[name]}
        wanted.add(id(statement))
        groups.append([each for each in module.body if id(each) in wanted])
    return groups


def plain_statements(statements: Sequence[ast.stmt]) -> list[Any]:
    """Return statements as JSON that is the same in every version of Python, without docstrings."""
    return [_plain(statement) for statement in statements]


def _is_part(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ClassDef) and any(
        isinstance(each, ast.AnnAssign) and ast.unparse(each.target) == "kind"
        for each in statement.body
    )


def _acts(statement: ast.stmt, used_elsewhere: set[str]) -> bool:
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.ImportFrom) and any(
        alias.name == "*" for alias in statement.names
    ):
        return True
    if isinstance(statement, ast.Assign | ast.AugAssign) and _sets_deep_attribute(statement):
        return True
    if not names_bound(statement).isdisjoint({*used_elsewhere, "SWEEP"}):
        return False
    if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return bool(statement.decorator_list)
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return any(isinstance(node, ast.Call) for node in ast.walk(statement))
    is_program = isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test)
    return not is_program


def _sets_deep_attribute(statement: ast.Assign | ast.AugAssign) -> bool:
    """Return whether it sets an attribute of an attribute: `torch.nn.functional.relu = mine`."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return any(
        isinstance(target, ast.Attribute | ast.Subscript) and not isinstance(target.value, ast.Name)
        for target in targets
    )


@lru_cache(maxsize=8)  # each part of a file is asked for, and nothing changes a tree
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


@lru_cache(maxsize=8)
def _definitions(module: ast.Module) -> dict[str, list[ast.stmt]]:
    """Return the statements that assign each module-level name."""
    statements: dict[str, list[ast.stmt]] = {}
    for statement in module.body:
        for name in names_bound(statement):
            statements.setdefault(name, []).append(statement)
    return statements


def names_assigned(statement: ast.stmt) -> frozenset[str]:
    """Return the module-level names that a statement assigns."""
    symbols = _scope(statement).get_symbols()
    return frozenset(
        symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()
    )


@lru_cache(maxsize=2000)
def names_bound(statement: ast.stmt) -> frozenset[str]:
    """Return the module-level names that a statement assigns or changes in place."""
    return names_assigned(statement) | {
        base.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store)
        if isinstance(base := node.value, ast.Name)
    }


@lru_cache(maxsize=2000)
def _names_read(statement: ast.stmt) -> frozenset[str]:
    """Return the names that a statement reads from its module, without locals of functions."""
    module = _scope(statement)
    names = {symbol.get_name() for symbol in module.get_symbols() if symbol.is_referenced()}
    waiting = list(module.get_children())
    while waiting:
        scope = waiting.pop()
        names |= {symbol.get_name() for symbol in scope.get_symbols() if symbol.is_global()}
        waiting += scope.get_children()
    return frozenset(names)


def _scope(statement: ast.stmt) -> symtable.SymbolTable:
    return symtable.symtable(ast.unparse(statement), "<statement>", "exec")


def _reached(start: str, definitions: dict[str, list[ast.stmt]]) -> set[str]:
    if start not in definitions:  # a class that a function made: all of the file may matter
        return set(definitions)
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in reached or name not in definitions:
            continue
        reached.add(name)
        for statement in definitions[name]:
            waiting.extend(_names_read(statement))
    return reached


def _plain(node: Any) -> Any:
    """Return a syntax tree as JSON that is the same in every version of Python."""
    if isinstance(node, ast.AST):
        fields = {name: _plain(value) for name, value in ast.iter_fields(node) if value}
        fields.pop("ctx", None)
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            fields["body"] = plain_statements(without_docstring(node.body))
        return {type(node).__name__: fields, **_falsy_constant(node)}
    if isinstance(node, list):
        return [_plain(item) for item in node]  # pyright: ignore[reportUnknownVariableType]
    return node if isinstance(node, str | int | float | bool) else repr(node)


def _falsy_constant(node: ast.AST) -> dict[str, str]:
    """Distinguish 0, "", False and None, since empty fields are left out elsewhere."""
    return {"value": repr(node.value)} if isinstance(node, ast.Constant) else {}


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a module, class or function but for its docstring."""
    first = body[0] if body else None
    is_text = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    return body[1:] if is_text else body
