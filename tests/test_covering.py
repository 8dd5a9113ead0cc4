"""Rows that hold each pair of values, which tests take in place of all combinations."""

import os
import subprocess
import sys
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.covering import covering


def pairs(rows: list[tuple[str, ...]]) -> set[tuple[str, str]]:
    return {pair for row in rows for pair in combinations(row, 2)}


def axes_of(*sizes: int) -> list[list[str]]:
    """Return axes whose values name axis and place, so that no two are the same."""
    return [[f"{axis}:{place}" for place in range(size)] for axis, size in enumerate(sizes)]


@given(st.lists(st.integers(1, 5), min_size=2, max_size=5))
def test_each_pair_of_values_meets_in_a_row_and_each_row_has_one_value_of_each_axis(
    sizes: list[int],
) -> None:
    axes = axes_of(*sizes)
    rows = covering(*axes)
    assert pairs(rows) == pairs(list(product(*axes)))
    assert all(value in axis for row in rows for value, axis in zip(row, axes, strict=True))


@given(st.lists(st.integers(1, 5), min_size=2, max_size=5))
def test_no_row_is_there_that_meets_nothing_new(sizes: list[int]) -> None:
    rows = covering(*axes_of(*sizes))
    assert all(pairs(rows[: place + 1]) > pairs(rows[:place]) for place in range(len(rows)))


@pytest.mark.parametrize(
    ("sizes", "num_rows"),
    [((11, 2, 2, 2), 22), ((4, 3, 2), 12), ((4, 4, 4), 16), ((2,) * 6, 8), ((5, 3), 15)],
)
def test_there_are_about_as_many_rows_as_the_two_longest_axes_have_pairs(
    sizes: tuple[int, ...], num_rows: int
) -> None:
    assert len(covering(*axes_of(*sizes))) == num_rows


def test_every_process_has_the_same_rows_in_the_same_order() -> None:
    program = "from tests.covering import covering; print(covering('abc', 'de', 'fgh', 'ijkl'))"
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert printed == {f"{covering('abc', 'de', 'fgh', 'ijkl')}\n"}
