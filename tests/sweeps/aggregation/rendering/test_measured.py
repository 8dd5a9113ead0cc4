"""Measured numbers as readers are shown them."""

import pytest

from capsmodel.metrics import TEST_ERROR, VALIDATION_LOSS
from sweeps.aggregation.rendering.measured import (
    measured_cell,
    measured_interval,
    recorded_mean_cell,
)
from sweeps.aggregation.statistics.intervals import Interval, mean_interval, where_fractions_lie

ERRORS = (0.0, 0.02)
MEAN = where_fractions_lie(mean_interval(ERRORS))
SPREAD = Interval(2, 0.01, None, None, deviation=0.014142)


def test_ends_of_errors_lie_where_errors_can_be_and_half_the_width_is_told_whole():
    cell = measured_cell(MEAN, TEST_ERROR)
    assert cell.text == "1.00 ± 12.71"
    assert cell.values == (1.0, 0.0, pytest.approx(13.706, abs=1e-3), None)

    recorded = recorded_mean_cell(MEAN, TEST_ERROR)
    assert recorded.text == cell.text
    assert recorded.values == (0.01, 0.0, pytest.approx(0.13706, abs=1e-5), None)


def test_a_mean_without_ends_stands_with_its_standard_deviation():
    cell = measured_cell(SPREAD, TEST_ERROR)
    assert cell.text == "1.00 (1.41)"
    assert cell.values == (1.0, None, None, pytest.approx(1.4142))

    recorded = recorded_mean_cell(SPREAD, TEST_ERROR)
    assert (recorded.text, recorded.values) == (cell.text, (0.01, None, None, 0.014142))


def test_a_loss_may_end_anywhere():
    interval = measured_interval(ERRORS, VALIDATION_LOSS)
    assert measured_interval(ERRORS, TEST_ERROR).low == 0
    assert (interval.low, interval.high) == pytest.approx((-0.11706, 0.13706), abs=1e-5)
