"""Single trained pairs and counts, against scipy and statsmodels."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

from sweeps.aggregation.statistics.exact_tests import (
    better_share,
    mcnemar_p,
    more_often_p,
    share,
)

EXACT = 1e-10
counts = st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@settings(max_examples=40)
@given(counts)
def test_the_interval_of_a_count_is_that_of_clopper_and_pearson(given_count: tuple[int, int]):
    interval = share(*given_count)

    assert (interval.low, interval.high) == pytest.approx(
        proportion_confint(*given_count, method="beta"), abs=EXACT
    )


def test_a_count_of_nothing_may_be_any_share():
    assert (share(0, 0).low, share(0, 0).high) == (0, 1)


def test_ties_count_as_halves_and_the_interval_leaves_them_out():
    wins = better_share({0: 1.0, 1: 2.0, 2: 3.0, 9: 0.0}, {0: 2.0, 1: 2.0, 2: 4.0, 7: 0.0})

    assert (wins.count, wins.total) == (2.5, 3)
    assert wins.low == pytest.approx(0.025**0.5, abs=EXACT)


def test_all_wins_exclude_a_half_from_six_on():
    assert share(5, 5).low < 0.5 < share(6, 6).low


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_mcnemar_is_that_of_statsmodels_and_the_binomial_test_of_where_they_part(seed: int):
    ours, theirs = np.random.default_rng(seed).random((2, 60)) < 0.2
    only_ours, only_theirs = int((ours & ~theirs).sum()), int((~ours & theirs).sum())

    table = [[0, only_theirs], [only_ours, 0]]
    expected: Any = mcnemar(table, exact=True)
    assert mcnemar_p(ours, theirs) == pytest.approx(expected.pvalue, abs=EXACT)
    parted = only_ours + only_theirs
    binomial = scipy.stats.binomtest(only_ours, parted).pvalue if parted else 1.0
    assert mcnemar_p(ours, theirs) == pytest.approx(binomial, abs=EXACT)


@pytest.mark.parametrize("counts", [(0, 5, 4, 5), (2, 5, 0, 5), (1, 3, 3, 7)])
def test_two_shares_are_compared_as_scipy_does(counts: tuple[int, int, int, int]):
    a, n, b, m = counts
    expected = scipy.stats.boschloo_exact([[a, b], [n - a, m - b]]).pvalue

    assert more_often_p(a, n, b, m) == pytest.approx(expected, abs=EXACT)


def test_shares_of_nothing_and_equal_ones_are_told_apart_by_nothing():
    assert more_often_p(0, 0, 3, 5) == 1
    assert more_often_p(2, 4, 3, 6) == 1
    assert not math.isnan(more_often_p(0, 5, 0, 5))
