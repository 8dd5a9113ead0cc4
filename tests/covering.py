"""Rows of several axes that hold each pair of values at least once.

A fault that depends on the values of two axes is found by these rows as by all combinations, of
which there are many more.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import combinations, product
from typing import Any

Cell = tuple[int, int]
"""The number of an axis, and of one of its values."""


def covering(
    first: Iterable[Any], second: Iterable[Any], *others: Iterable[Any]
) -> list[tuple[Any, ...]]:
    """Return rows with one value of each axis; each two values of two axes meet in some row.

    The rows are the same in every process. Two axes give all combinations.
    """
    values = [list(axis) for axis in (first, second, *others)]
    cells = [[(axis, number) for number in range(len(of))] for axis, of in enumerate(values)]
    unmet = dict.fromkeys(pair for two in combinations(cells, 2) for pair in product(*two))
    uses: Counter[Cell] = Counter()
    rows: list[tuple[Any, ...]] = []
    while unmet:
        row = list(next(iter(unmet)))
        (one, _), (other, _) = row
        for axis in (cells[axis] for axis in range(len(cells)) if axis not in {one, other}):
            row.append(max(axis, key=lambda cell: (_num_new(cell, row, unmet), -uses[cell])))
        row.sort()
        for pair in combinations(row, 2):
            unmet.pop(pair, None)
        uses.update(row)
        rows.append(tuple(values[axis][number] for axis, number in row))
    return rows


def _num_new(cell: Cell, row: list[Cell], unmet: dict[tuple[Cell, Cell], None]) -> int:
    """Return how many pairs that have not met a cell would bring into a row."""
    return sum((min(cell, other), max(cell, other)) in unmet for other in row)
