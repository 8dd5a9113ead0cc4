"""Evidence that may be looked at any time, against its own definition."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from sweeps.aggregation.statistics.added_seeds import fewest_seeds, level_of_evidence, log_e_value

differences = st.lists(st.floats(-10, 10, allow_subnormal=False), min_size=2, max_size=12)


@pytest.mark.parametrize("n", [3, 6, 12])
def test_it_is_the_likelihood_ratio_of_t_with_a_normal_prior_over_the_effect(n: int):
    """The mixture over effects of noncentral t, over central t: a Bayes factor by integration."""
    values = np.random.default_rng(n).normal(1.0, 1.0, n)
    t = values.mean() / values.std(ddof=1) * math.sqrt(n)
    prior: Any = scipy.stats.norm(0, 2.0)  # of the effect: variance 1 / .25

    def weighed(effect: float) -> float:
        return float(scipy.stats.nct.pdf(t, n - 1, effect * math.sqrt(n)) * prior.pdf(effect))

    above, below = (
        scipy.integrate.quad(weighed, *ends, epsabs=1e-14, limit=200)[0]
        for ends in ((0, 12), (-12, 0))
    )
    expected = math.log((above + below) / scipy.stats.t.pdf(t, n - 1))
    assert log_e_value(values.tolist()) == pytest.approx(expected, abs=1e-6)


@given(differences, st.floats(0.01, 100))
def test_unit_sign_and_order_change_nothing(values: list[float], unit: float):
    other = [-unit * value for value in reversed(values)]

    assert log_e_value(other) == pytest.approx(log_e_value(values), rel=1e-6, abs=1e-6)


@given(st.floats(-5, 5), st.integers(0, 20))
def test_without_spread_there_is_no_evidence(value: float, n: int):
    assert log_e_value([value] * n) == 0


def test_it_rarely_exceeds_however_often_it_is_looked_at():
    paths = np.random.default_rng(0).normal(size=(2000, 15)).tolist()
    ever = [any(log_e_value(path[:n]) >= math.log(20) for n in (3, 6, 9, 12, 15)) for path in paths]

    assert np.mean(ever) <= 0.05


def test_fewer_than_five_seeds_are_never_enough_for_six_arms():
    assert log_e_value([1.0, 1.0, 1.0, 1.0 + 1e-9]) < math.log(120)
    assert log_e_value([1.0] * 9 + [1.0 + 1e-9]) > math.log(120)


@given(
    st.lists(st.floats(0.1, 10), min_size=4, max_size=12, unique=True),
    st.floats(0.5, 6),
)
def test_evidence_is_reached_exactly_where_a_t_test_has_its_level(
    values: list[float], needed: float
):
    level = level_of_evidence(len(values), needed)
    t_test: Any = scipy.stats.ttest_1samp(values, 0.0)
    if abs(t_test.pvalue - level) > 1e-9:
        assert (log_e_value(values) >= needed) is bool(t_test.pvalue < level)


def test_three_and_four_seeds_show_nothing_of_six_arms_after_one_was_added():
    needed = math.log(6 / 0.05)

    assert [level_of_evidence(n, needed) for n in (3, 4)] == [0, 0]
    assert fewest_seeds(needed) == 5
    critical = scipy.stats.t.isf(level_of_evidence(10, needed) / 2, 9)
    assert 4.5 < critical < 5.5
