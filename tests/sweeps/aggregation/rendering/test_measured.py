"""Measured numbers as readers are shown them."""

import pytest

from capsmodel.metrics import TEST_ERROR, VALIDATION_LOSS
from sweeps.aggregation.rendering.measured import measured_cell, recorded_mean_cell
from sweeps.aggregation.statistics.intervals import mean_interval

ERRORS = (0.0, 0.02)


def test_ends_of_errors_lie_where_errors_can_be_and_half_the_width_is_told_whole():
    cell = measured_cell(ERRORS, TEST_ERROR)
    assert cell.text == "1.00 ± 12.71"
    assert cell.values == (1.0, 0.0, pytest.approx(13.706, abs=1e-3))

    recorded = recorded_mean_cell(mean_interval(ERRORS), TEST_ERROR)
    assert recorded.text == cell.text
    assert recorded.values == (0.01, 0.0, pytest.approx(0.13706, abs=1e-5))


def test_a_loss_may_end_anywhere():
    _, low, high = measured_cell(ERRORS, VALIDATION_LOSS).values
    assert (low, high) == pytest.approx((-0.11706, 0.13706), abs=1e-5)
