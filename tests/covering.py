"""Rows of several axes that hold each pair of values at least once.

A fault that depends on the values of two axes is found by these rows as by all combinations, of
which there are many more.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import combinations, product
from typing import Any

Choice = tuple[int, int]
"""The number of an axis, and of one of its values."""


def covering(
    first: Iterable[Any], second: Iterable[Any], *others: Iterable[Any]
) -> list[tuple[Any, ...]]:
    """Return rows with one value of each axis; each two values of two axes meet in some row.

    The rows are the same in every process. Two axes give all combinations.
    """
    axes = [list(axis) for axis in (first, second, *others)]
    choices = [[(axis, place) for place in range(len(axes[axis]))] for axis in range(len(axes))]
    unmet = dict.fromkeys(pair for two in combinations(choices, 2) for pair in product(*two))
    uses: Counter[Choice] = Counter()
    rows: list[tuple[Any, ...]] = []
    while unmet:
        row = list(next(iter(unmet)))
        chosen = {axis for axis, _ in row}
        for axis in range(len(axes)):
            if axis not in chosen:
                row.append(max(choices[axis], key=lambda c: (_num_new(c, row, unmet), -uses[c])))
        row.sort()
        for pair in combinations(row, 2):
            unmet.pop(pair, None)
        uses.update(row)
        rows.append(tuple(axes[axis][place] for axis, place in row))
    return rows


def _num_new(choice: Choice, row: list[Choice], unmet: dict[tuple[Choice, Choice], None]) -> int:
    """Return how many pairs that have not met a choice would bring into a row."""
    return sum((min(choice, other), max(choice, other)) in unmet for other in row)
