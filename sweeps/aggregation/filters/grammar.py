"""The grammar of filters: Python's own, closed to names, literals, comparisons, and, or and not.

The text is parsed by `ast` and turned into the values below. Nothing of it is ever run.
"""

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sweeps.records.errors import BadInput
from sweeps.records.plain_text import shortened

_LONGEST = 10_000
_QUOTED = 60
_DEEPEST = 100  # conditions in one another
_LARGEST = 2**63 - 1  # of what is recorded
_EXAMPLE = "model.routing == 'em' and model.routing.iterations >= 2"
_BY_NAME = "column"  # column['...'] asks for a name that Python cannot spell
_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}


@dataclass(frozen=True)
class Name:
    """A setting's path, a metric or a column."""

    text: str


@dataclass(frozen=True)
class Given:
    """A value that the filter itself gives: a text, a number, True, False, None, or a list."""

    value: Any


@dataclass(frozen=True)
class Comparison:
    """Two operands and one of == != < <= > >= in, not in."""

    left: Name | Given
    operator: str
    right: Name | Given


@dataclass(frozen=True)
class Not:
    """The contrary of a condition."""

    condition: "Condition"


@dataclass(frozen=True)
class AllOf:
    """Conditions joined by "and"."""

    conditions: tuple["Condition", ...]


@dataclass(frozen=True)
class AnyOf:
    """Conditions joined by "or"."""

    conditions: tuple["Condition", ...]


Condition = Comparison | Not | AllOf | AnyOf


def parse_filter(text: str) -> Condition:
    """Return the condition that a filter states.

    Args:
        text: Such as `model.routing == 'em' and test_error < 0.02`. Names with other signs than
            Python's are written `column['test_error.affine-nist']`.

    Raises:
        BadInput: If it states none, in one sentence.
    """
    text = str(text).strip()  # whatever was given, it is read as a text
    if len(text) > _LONGEST:
        raise BadInput(f"A filter has at most {_LONGEST:,} characters, given were {len(text):,}.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python says of odd programs is not for filters
            tree = ast.parse(text, mode="eval")
        return _condition(tree.body)
    except SyntaxError as error:
        why = f"{error.msg}, at character {error.offset}" if error.offset else error.msg
        raise BadInput(
            f"The filter '{shortened(text, _QUOTED)}' cannot be read ({why}): write it like "
            f'"{_EXAMPLE}".'
        ) from None
    except (RecursionError, MemoryError):
        raise BadInput("The filter is nested too deep: write it with fewer brackets.") from None
    except ValueError as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(
            f"The filter '{shortened(text, _QUOTED)}' holds characters that no filter can: write "
            f'it like "{_EXAMPLE}".'
        ) from None


def comparisons(condition: Condition) -> Iterator[Comparison]:
    """Yield the comparisons in a condition."""
    if isinstance(condition, Comparison):
        yield condition
    elif isinstance(condition, Not):
        yield from comparisons(condition.condition)
    else:
        for one in condition.conditions:
            yield from comparisons(one)


def names_in(condition: Condition) -> list[str]:
    """Return the names that a condition asks for, each once, in their order."""
    operands = (one for found in comparisons(condition) for one in (found.left, found.right))
    return list(dict.fromkeys(one.text for one in operands if isinstance(one, Name)))


def _condition(node: ast.expr, depth: int = 0) -> Condition:
    if depth > _DEEPEST:
        raise RecursionError
    if isinstance(node, ast.BoolOp):
        joined = AllOf if isinstance(node.op, ast.And) else AnyOf
        return joined(tuple(_condition(value, depth + 1) for value in node.values))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return Not(_condition(node.operand, depth + 1))
    if isinstance(node, ast.Compare):
        return _comparison(node)
    if isinstance(node, ast.Name | ast.Attribute | ast.Constant):
        raise BadInput(
            f"'{_quoted(node)}' in the filter says nothing by itself: compare it, as in "
            f'"{_EXAMPLE}".'
        )
    raise _no_part(node)


def _comparison(node: ast.Compare) -> Condition:
    operands = [_operand(one) for one in (node.left, *node.comparators)]
    found: list[Comparison] = []
    for place, operator in enumerate(node.ops):
        if type(operator) not in _OPERATORS:
            raise BadInput("A filter compares by ==, !=, <, <=, >, >=, in and not in, never by is.")
        if isinstance(operator, ast.In | ast.NotIn):
            _refuse_nothing_to_look_into(operands[place + 1])
        found.append(Comparison(operands[place], _OPERATORS[type(operator)], operands[place + 1]))
    return found[0] if len(found) == 1 else AllOf(tuple(found))


def _refuse_nothing_to_look_into(operand: Name | Given) -> None:
    if isinstance(operand, Given) and not isinstance(operand.value, list | str):
        raise BadInput(
            f"In a filter 'in' looks into a list or a text, and {operand.value!r} is neither: "
            f"write [{operand.value!r}]."
        )


def _operand(node: ast.expr) -> Name | Given:
    path = _path(node)
    return Name(path) if path else Given(_literal(node))


def _path(node: ast.expr) -> str:
    """Return a dotted name, or the one in column['...']; "" for anything else."""
    if isinstance(node, ast.Subscript):
        inside = node.slice.value if isinstance(node.slice, ast.Constant) else None
        is_column = isinstance(node.value, ast.Name) and node.value.id == _BY_NAME
        return inside if is_column and isinstance(inside, str) else ""
    steps: list[str] = []
    while isinstance(node, ast.Attribute):
        steps.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(steps)]) if isinstance(node, ast.Name) else ""


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.List | ast.Tuple):
        return [_literal(element) for element in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _literal(node.operand)
        if type(value) in (int, float):
            return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str | None):
        if isinstance(node.value, int) and node.value > _LARGEST:
            raise BadInput(f"A whole number in a filter is at most {_LARGEST}: write a float.")
        return node.value
    raise _no_part(node)


def _no_part(node: ast.expr) -> BadInput:
    return BadInput(
        f"'{_quoted(node)}' cannot stand in a filter: it holds names, texts, numbers, True, False, "
        f"None, lists, comparisons, and, or, not and brackets."
    )


def _quoted(node: ast.expr) -> str:
    return shortened(ast.unparse(node), _QUOTED)
