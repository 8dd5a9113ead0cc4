"""What a next table finds, by its direction, how often, and how sure the variance over seeds is."""

from functools import partial

import numpy as np
import pytest
from scipy.special import chdtri, ndtr

from sweeps.aggregation.statistics.power import (
    COARSE,
    FINE,
    Requirement,
    VarianceParts,
    detectable,
    power_of_rule,
)
from sweeps.aggregation.statistics.reach import LIMITS, Case, reach_of

SPREADS = dict(zip(LIMITS, (0.01, 0.02, 0.04), strict=True))


def power_at(case: Case, difference: float) -> float:
    """Return the power of a normal test that two standard errors pass; less varies by half."""
    error = SPREADS[case.confidence] / (1 if case.sign > 0 else 2)
    return float(ndtr(difference / error - 2) + ndtr(-difference / error - 2))


def test_it_is_where_the_power_is_what_is_asked_for_at_each_limit() -> None:
    reach = reach_of(power_at, 0.1, 5)
    assert reach
    assert reach.more == pytest.approx([2.8416 * spread for spread in SPREADS.values()], abs=1e-4)
    assert reach.half_more == pytest.approx([2 * spread for spread in SPREADS.values()], abs=1e-4)
    assert reach.less == pytest.approx([size / 2 for size in reach.more], abs=1e-4)
    assert reach.half_less == pytest.approx([size / 2 for size in reach.half_more], abs=1e-4)
    assert reach.error == 0.1
    assert reach.beyond(0.02).less == pytest.approx([size + 0.02 for size in reach.less])


def test_the_middle_lies_between_the_limits_also_where_less_variance_is_found_less_often() -> None:
    spreads = dict(zip(LIMITS, (0.03, 0.02, 0.04), strict=True))

    def unlike(case: Case, difference: float) -> float:
        return float(ndtr(difference / spreads[case.confidence] - 2))

    reach = reach_of(unlike, 0.1, 5)
    assert reach
    assert reach.more.low == reach.more.middle
    assert reach.more.middle == pytest.approx(2.8416 * 0.02, abs=1e-4)


def test_where_no_difference_is_ever_found_there_is_none() -> None:
    assert reach_of(lambda _case, _difference: 0.0, 0.1, 5) is None


@pytest.mark.parametrize("confidence", LIMITS)
def test_the_limits_of_a_variance_are_passed_as_often_as_they_say(confidence: float) -> None:
    """In draws of a variance with its degrees of freedom, whose true value is 1."""
    drawn = np.random.default_rng(0).chisquare(4, 4_000) / 4
    limits = [
        VarianceParts(float(of_seeds), 0.0, 0.0).with_seeds_at(confidence, 4, 360).of_seeds
        for of_seeds in drawn
    ]
    assert np.mean(np.array(limits) >= 1) == pytest.approx(confidence, abs=0.02)
    assert limits[0] == pytest.approx(drawn[0] * 4 / chdtri(4, confidence))


def test_an_arm_that_errs_less_varies_less_by_halves_and_one_that_errs_more_never_does() -> None:
    seeds = [0.06, 0.1, 0.14]
    known = VarianceParts(8e-4, 0.01, 0.05).with_errors(seeds, [seeds], 400)
    at = [float(known.way(5, 400, difference).over_seeds) for difference in (-0.08, 0.0, 0.08)]
    assert at[0] < at[1] < at[2]
    assert known.seeds
    less, more = known.seeds.growth(np.array([-0.08, 0.08]))
    assert more > 1
    assert less == pytest.approx(_whole_shrinking(known) ** 0.5, rel=0.02)


def _whole_shrinking(parts: VarianceParts) -> float:
    """Return by what factor these seeds lie closer where they err on 2 % in the mean."""
    assert parts.seeds
    steps = np.linspace(-4, 4, 4_001)[:, None]
    errors = ndtr(parts.seeds.places + steps)
    means, spreads = errors.mean(axis=1), errors.std(axis=1)
    usual, moved = (spreads[np.abs(means - error).argmin()] for error in (0.1, 0.02))
    return float(moved / usual)


def test_coarse_nodes_find_what_fine_ones_do_to_some_percent() -> None:
    parts = VarianceParts(4e-4, 0.01, 0.05).with_errors([0.08, 0.1, 0.12], [[0.08, 0.1, 0.12]], 400)
    asked = Requirement(0.01, num_sharing=5)
    found = [
        detectable(partial(power_of_rule, parts, 5, 400, requirement=asked, nodes=nodes))
        for nodes in (FINE, COARSE)
    ]
    assert found[1] == pytest.approx(found[0], rel=0.03)
