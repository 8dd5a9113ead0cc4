"""Comparisons by evaluations have the error rates that they promise: a few draws of each.

`python -m tools.acceptance.evaluations` counts them at length. Chance is the same in every run.
`test_two_way.py` and `test_power.py` have the laws.
"""

from collections.abc import Iterable

import numpy as np
import pytest

from tools.acceptance import evaluations
from tools.acceptance.curve_networks import CurveNetworks
from tools.acceptance.figures import Figure
from tools.acceptance.logit_networks import HEAVY
from tools.acceptance.networks import BOTH_MATTER, VIEWS

pytestmark = pytest.mark.nightly


def assert_within_limits(figures: Iterable[Figure]) -> None:
    for figure in figures:
        low, high = figure.ends
        assert low <= figure.most, figure.as_line()
        assert high >= figure.least, figure.as_line()


@pytest.mark.parametrize(
    ("networks", "seeds"),
    [(CurveNetworks(VIEWS, 10), 3), (CurveNetworks(HEAVY, 4, is_fresh=True), 5)],
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_hardly_anything_is_bold_where_no_arm_differs(networks: CurveNetworks, seeds: int) -> None:
    assert_within_limits(evaluations.under_null(networks, seeds, 5, 2, 500))


def test_points_that_do_not_differ_are_hardly_ever_marked() -> None:
    networks = CurveNetworks(BOTH_MATTER, 6)
    assert_within_limits(evaluations.points_where_one_differs(networks, 5, 5, 400))


def test_what_a_table_prints_is_found_as_often_as_it_says() -> None:
    assert_within_limits(evaluations.power(CurveNetworks(BOTH_MATTER, 3), 5, 5, 1, 150))


def test_an_arm_that_is_worse_by_a_difference_errs_so_much_more_under_its_curve() -> None:
    networks = CurveNetworks(BOTH_MATTER, 3)
    places = [networks.places(), networks.worse_by(0.1)]
    parts = [networks.means(points) for points in networks.parts("mean", places, (400, 5, 100))]
    errors = np.concatenate(parts).mean(axis=(0, 2, 3))
    assert errors[1] - errors[0] == pytest.approx(0.1, abs=0.01)
    assert errors[0] == pytest.approx(float(networks.weights @ networks.errors), abs=0.01)
