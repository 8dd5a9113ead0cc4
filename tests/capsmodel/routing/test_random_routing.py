"""The couplings of random routing are drawn between its two bounds."""

import pytest
from torch import Tensor

from capsmodel.routing import RandomRouting
from tests.capsmodel.routing.routed import routed_by, router_for, some_votes

VOTES = some_votes(1, 2000, 2, 3)


def ratios(routing: RandomRouting) -> Tensor:
    """Return for each child the largest of its two shares by the smallest."""
    couplings = routed_by(router_for(routing, VOTES), VOTES).couplings
    assert couplings is not None
    return couplings.values.amax(dim=2) / couplings.values.amin(dim=2)


@pytest.mark.parametrize(
    ("low", "high"), [(0.8, 1.2), (0.1, 10.0), (0.1, 1.2), (0.8, 10.0), (8.0, 12.0)]
)
def test_shares_differ_as_much_as_the_bounds_and_no_more(low: float, high: float) -> None:
    ratio = ratios(RandomRouting(low=low, high=high)).max().item()
    assert 0.5 * high / low < ratio <= high / low


def test_shares_of_wide_bounds_differ_more_than_by_default() -> None:
    assert ratios(RandomRouting()).max() <= 1.5
    assert ratios(RandomRouting(low=0.1, high=10)).max() > 15


def test_shares_are_drawn_evenly_between_the_bounds() -> None:
    wide = ratios(RandomRouting(low=1, high=3)).double().mean().item()
    # of two uniform draws x < y in [1, 3]: the mean of y / x is (1/2) integral of (9 - x^2) / 2x
    assert wide == pytest.approx(1.4719, abs=0.03)
