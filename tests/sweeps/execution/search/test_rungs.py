"""The hopeless are stopped at a rung, judged by those with the same seed, and only once."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeps.execution.search import promotion as rungs
from sweeps.execution.search.curves import as_rival
from sweeps.execution.search.promotion import quantile, rung_to_judge

values = st.floats(0, 1)
rivals = st.lists(values, min_size=1, max_size=12)


def is_hopeless(value: float, others: list[float], kept_share: float, min_rivals: int) -> bool:
    return rungs.is_hopeless(value, sorted(map(as_rival, others)), kept_share, min_rivals)


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=30),
    st.one_of(st.floats(0.001, 0.999), st.integers(2, 9).map(lambda divisor: 1 / divisor)),
)
def test_a_quantile_is_numpys_percentile_to_the_bit(numbers: list[float], share: float) -> None:
    assert quantile(sorted(numbers), 100 * share / 100) == np.percentile(numbers, 100 * share)


def test_a_verdict_needs_enough_rivals() -> None:
    assert not is_hopeless(9.0, [0.1, 0.2], kept_share=0.5, min_rivals=3)
    assert is_hopeless(9.0, [0.1, 0.2, 0.3], kept_share=0.5, min_rivals=3)


@pytest.mark.parametrize(("value", "is_stopped"), [(0.2, False), (0.3, False), (0.31, True)])
def test_half_is_kept_by_a_half(value: float, is_stopped: bool) -> None:
    assert is_hopeless(value, [0.1, 0.2, 0.3, 0.4, 0.5], 0.5, 1) == is_stopped


def test_a_third_is_kept_by_a_third() -> None:
    others = [0.1, 0.2, 0.3, 0.4]
    assert [is_hopeless(value, others, 1 / 3, 3) for value in (0.19, 0.21)] == [False, True]


def test_a_diverging_trial_is_not_stopped_early_as_it_has_an_ending_of_its_own() -> None:
    assert not is_hopeless(math.nan, [0.1, 0.2], 0.5, 1)
    assert not is_hopeless(math.inf, [0.1, 0.2], 0.5, 1)


def test_rivals_that_diverged_count_as_the_worst() -> None:
    assert not is_hopeless(0.9, [math.nan, math.inf, 0.1], 0.5, 3)
    assert is_hopeless(0.9, [math.nan, 0.2, 0.1], 0.5, 3)


@given(rivals, st.floats(0.01, 0.99))
def test_none_as_good_as_the_best_is_stopped(others: list[float], kept_share: float) -> None:
    assert not is_hopeless(min(others), others, kept_share, 1)


@given(values, values, rivals, st.floats(0.01, 0.99))
def test_a_worse_trial_is_stopped_where_a_better_one_is(
    value: float, other: float, others: list[float], kept_share: float
) -> None:
    better, worse = sorted((value, other))
    assert is_hopeless(worse, others, kept_share, 1) or not is_hopeless(
        better, others, kept_share, 1
    )


@pytest.mark.parametrize(
    ("last", "judged", "rung"),
    [
        (0, (), None),
        (1, (), None),
        (2, (), 2),
        (3, (), 2),
        (3, (2,), None),
        (4, (2,), 4),
        (9, (), 4),
        (9, (2, 4), None),
    ],
)
def test_the_last_rung_that_was_passed_is_judged_once(
    last: int, judged: tuple[int, ...], rung: int | None
) -> None:
    assert rung_to_judge((2, 4), last, judged) == rung
    assert rung_to_judge((), last, judged) is None


def test_a_rung_before_one_that_was_judged_is_not_judged_later() -> None:
    assert rung_to_judge((2, 4), 3, (4,)) is None
