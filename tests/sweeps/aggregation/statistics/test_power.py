import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.power import TTestPower

from sweeps.aggregation.statistics.rule_power import POWER
from tests.sweeps.aggregation.statistics.noncentral_t import detectable_difference


@pytest.mark.parametrize("n", [3, 5, 10, 40])
@pytest.mark.parametrize("compared", [1, 6])
def test_what_is_detectable_has_the_power_that_statsmodels_gives_it(n: int, compared: int):
    effect = detectable_difference(1 / math.sqrt(n), n - 1, compared)

    level = 0.05 / compared
    right, wrong = (
        TTestPower().power(effect, n, level / 2, alternative=side) for side in ("larger", "smaller")
    )
    assert np.nansum([right, wrong]) == pytest.approx(POWER, abs=1e-10)
    if not math.isnan(wrong):
        assert TTestPower().power(effect, n, level) == pytest.approx(POWER, abs=1e-10)


@pytest.mark.parametrize(("n", "expected"), [(3, 3.26), (5, 1.68), (10, 1.00)])
def test_of_one_comparison_it_is_the_known_multiple_of_the_spread(n: int, expected: float):
    assert detectable_difference(1 / math.sqrt(n), n - 1) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("compared", [1, 2, 6, 40, 1000])
def test_there_is_a_value_at_all_degrees_of_freedom_and_it_falls_with_them(compared: int):
    """Of large effects scipy's noncentral t has gaps, at two degrees of freedom to begin with."""
    differences = [
        detectable_difference(1.0, float(df), compared) for df in np.geomspace(2, 400, 40)
    ]

    assert all(math.isfinite(one) for one in differences)
    assert differences == sorted(differences, reverse=True)


@settings(max_examples=20)
@given(st.floats(1e-6, 1e3), st.floats(2, 500), st.integers(1, 20))
def test_it_scales_with_the_standard_error(error: float, degrees: float, compared: int):
    one = detectable_difference(1.0, degrees, compared)

    assert detectable_difference(error, degrees, compared) == pytest.approx(error * one, rel=1e-10)


def test_nothing_is_detectable_without_spread():
    assert detectable_difference(0.0, 2, 1) == math.inf
