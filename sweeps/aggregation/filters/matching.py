"""Whether what is known of a trial matches a condition: yes, no, or it cannot be said."""

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, cast

from sweeps.aggregation.filters.grammar import (
    AllOf,
    Comparison,
    Condition,
    Given,
    Name,
    Not,
)

Kind = Literal["number", "text", "truth", "list", "none"]


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""What a name that has no value stands for: every comparison with it cannot be said."""

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def matches(condition: Condition, value_of: Callable[[str], Any]) -> bool:
    """Return whether a condition holds.

    A comparison with what is missing is neither true nor false, and neither is its contrary, so
    that what is missing never matches. Values of two kinds are not equal, and in no order.

    Args:
        condition: As it was parsed.
        value_of: Name -> value, `MISSING` where there is none.
    """
    return _truth(condition, value_of) is True


def comparable(value: Any) -> Any:
    """Return a setting or a number as filters see it.

    A part is its kind, a group of settings and a number that is none are missing.
    """
    if isinstance(value, Mapping):
        kind = cast(Mapping[str, Any], value).get("kind")
        return kind if isinstance(kind, str) else MISSING
    if isinstance(value, tuple):
        return [*cast(tuple[Any, ...], value)]
    return MISSING if isinstance(value, float) and math.isnan(value) else value


def kind_of(value: Any) -> Kind:
    """Return what sort of value it is: only those of one kind are compared."""
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "text"
    return "list" if isinstance(value, list) else "none"


def _truth(condition: Condition, value_of: Callable[[str], Any]) -> bool | None:
    if isinstance(condition, Comparison):
        left, right = (_value(one, value_of) for one in (condition.left, condition.right))
        return None if MISSING in (left, right) else _compared(left, condition.operator, right)
    if isinstance(condition, Not):
        found = _truth(condition.condition, value_of)
        return None if found is None else not found
    decisive = not isinstance(condition, AllOf)  # one true decides "or", one false "and"
    found = [_truth(one, value_of) for one in condition.conditions]
    if decisive in found:
        return decisive
    return None if None in found else not decisive


def _value(operand: Name | Given, value_of: Callable[[str], Any]) -> Any:
    return value_of(operand.text) if isinstance(operand, Name) else operand.value


def _compared(left: Any, sign: str, right: Any) -> bool | None:
    if sign in ("==", "!="):
        return _equal(left, right) is (sign == "==")
    if sign in ("in", "not in"):
        found = _is_in(left, right)
        return None if found is None else found is (sign == "in")
    is_ordered = kind_of(left) == kind_of(right) and kind_of(left) in ("number", "text")
    return _ORDERS[sign](left, right) if is_ordered else None


def _equal(left: Any, right: Any) -> bool:
    if kind_of(left) != kind_of(right):
        return False
    if isinstance(left, list):
        pairs = zip(cast(list[Any], left), right, strict=False)
        return len(cast(list[Any], left)) == len(right) and all(_equal(*pair) for pair in pairs)
    return left == right


def _is_in(left: Any, right: Any) -> bool | None:
    if isinstance(right, list):
        return any(_equal(left, element) for element in cast(list[Any], right))
    return left in right if isinstance(left, str) and isinstance(right, str) else None
