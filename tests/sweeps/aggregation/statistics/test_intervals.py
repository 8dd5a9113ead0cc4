import math
import statistics

import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st

from sweeps.aggregation.statistics.intervals import (
    mean_interval,
    paired_difference,
    where_fractions_lie,
)
from sweeps.records.errors import BadInput

values = st.floats(-1e6, 1e6, allow_subnormal=False)


def test_two_values_give_the_interval_of_one_degree_of_freedom():
    interval = mean_interval([1.0, 3.0])

    assert (interval.n, interval.mean) == (2, 2.0)
    assert interval.half_width == pytest.approx(math.tan(0.475 * math.pi))  # t with 1 degree


def test_three_values_give_the_closed_form_of_two_degrees_of_freedom():
    interval = mean_interval([1.0, 2.0, 3.0])

    quantile = 0.95 * math.sqrt(2 / (1 - 0.95**2))
    assert interval.half_width == pytest.approx(quantile / math.sqrt(3))


@given(st.lists(values, min_size=2, max_size=30), st.floats(0.5, 0.999))
def test_the_interval_is_that_of_scipy(sample, confidence):
    scale = max(map(abs, sample))
    assume(scale > 1e-100)
    assume(statistics.stdev(sample) > 1e-6 * scale)
    interval = mean_interval(sample, confidence)

    expected = scipy.stats.ttest_1samp(sample, 0).confidence_interval(confidence)
    assert interval.low == pytest.approx(expected.low, rel=1e-6, abs=1e-6 * scale)
    assert interval.high == pytest.approx(expected.high, rel=1e-6, abs=1e-6 * scale)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 1 - 0.05 / 6])
@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_the_interval_of_errors_is_that_of_scipy_to_ten_digits(n: int, confidence: float):
    sample = [0.05 + math.sin(place) / 50 for place in range(n)]
    expected = scipy.stats.ttest_1samp(sample, 0).confidence_interval(confidence)

    interval = mean_interval(sample, confidence)
    assert (interval.low, interval.high) == pytest.approx(tuple(expected), abs=1e-10)


@given(st.lists(values, max_size=10).flatmap(lambda v: st.tuples(st.just(v), st.permutations(v))))
def test_the_order_of_values_changes_nothing(pair):
    first, second = pair

    assert mean_interval(first) == mean_interval(second)


def test_one_value_has_a_mean_but_no_interval():
    interval = mean_interval([0.25])

    assert (interval.n, interval.mean, interval.low, interval.high) == (1, 0.25, None, None)
    assert not interval.excludes_zero


def test_no_values_have_no_mean():
    assert mean_interval([]).mean is None


def test_values_that_are_not_finite_are_left_out_and_not_counted():
    assert mean_interval([1.0, math.nan, 3.0, math.inf]) == mean_interval([1.0, 3.0])


@given(values, st.integers(2, 9))
def test_equal_values_give_an_interval_of_width_zero(value, n):
    interval = mean_interval([value] * n)

    assert interval.low == interval.mean == interval.high == value


def test_a_difference_is_taken_on_the_common_seeds_only():
    difference = paired_difference({0: 3.0, 1: 5.0, 7: 100.0}, {1: 4.0, 0: 1.0, 9: -50.0})

    assert difference == mean_interval([2.0, 1.0])


def test_a_difference_without_common_seeds_is_empty():
    assert paired_difference({0: 1.0}, {1: 1.0}).n == 0


@given(st.dictionaries(st.integers(0, 9), values), st.dictionaries(st.integers(0, 9), values))
def test_a_difference_turned_round_changes_its_sign(arm, baseline):
    forth, back = paired_difference(arm, baseline), paired_difference(baseline, arm)

    assert forth.mean == (None if back.mean is None else -back.mean)
    assert forth.excludes_zero == back.excludes_zero


def test_an_interval_that_touches_zero_does_not_exclude_it():
    assert not mean_interval([0.0, 0.0]).excludes_zero
    assert mean_interval([1.0, 1.0]).excludes_zero


def test_a_confidence_outside_its_range_is_refused():
    with pytest.raises(BadInput, match="between 0 and 1"):
        mean_interval([1.0], confidence=95)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_the_interval_of_fractions_ends_where_fractions_can_be(values: list[float]):
    interval = mean_interval(values)
    clipped = where_fractions_lie(interval)
    percent = where_fractions_lie(mean_interval(100 * value for value in values), 100)

    assert interval.low is not None
    assert interval.high is not None
    assert (clipped.n, clipped.mean) == (interval.n, interval.mean)
    assert (clipped.low, clipped.high) == (max(interval.low, 0), min(interval.high, 1))
    assert (percent.low, percent.high) == pytest.approx((100 * clipped.low, 100 * clipped.high))


@pytest.mark.parametrize("values", [[], [0.5], [-0.2, -0.4], [1.5, 1.25]])
def test_what_is_no_interval_of_fractions_stays_as_it_is(values: list[float]):
    assert where_fractions_lie(mean_interval(values)) == mean_interval(values)
