"""How many proposals will have a setting is known before any is trained."""

import pytest

from capsmodel.search_range import Floats
from search_spaces import Search, Space
from search_spaces.plans.expected_counts import ExpectedCounts

RATE, LOSS, SCHEDULE = "optimiser.learning_rate", "loss", "loss[margin].schedule"
SPACE = Space(
    {
        LOSS: ("margin", "spread", "cross_entropy"),
        SCHEDULE: ("constant", "linear"),
        RATE: Floats(1e-4, 1e-2, log=True),
    }
)


NEEDED = {LOSS: 20, SCHEDULE: 20}


def counts(**fields: object) -> ExpectedCounts:
    given = {"space": SPACE, "trials": 40, "confirm": None, "sampler": "random", **fields}
    return ExpectedCounts(Search(**given))  # pyright: ignore[reportArgumentType]


def test_a_balanced_sample_has_each_kind_in_its_share() -> None:
    assert counts().among(30) == {LOSS: 30, SCHEDULE: 10, RATE: 30}
    assert counts().fewest(NEEDED, 1000) in {58, 59, 60}
    assert counts(balance=False).among(40)[SCHEDULE] == pytest.approx(40 / 3)
    assert counts(balance=False).fewest(NEEDED, 1000) == 60
    assert counts().fewest({**NEEDED, LOSS: 90}, 1000) == 90, "each as many as it needs"
    assert counts().fewest(NEEDED, 50) is None, "which is more than may be tried"


def test_what_a_sampler_learns_is_taken_to_be_spread_evenly() -> None:
    expected = counts(sampler="tpe", startup=12).among(40)
    assert expected[SCHEDULE] == pytest.approx(4 + 28 / 3)


def test_points_that_can_be_counted_are_not_counted_twice() -> None:
    space = Space({LOSS: ("margin", "spread"), SCHEDULE: ("constant", "linear")})
    assert counts(space=space, trials=3).among(3)[SCHEDULE] == 2
    assert counts(space=space, trials=3).fewest(NEEDED, 1000) is None
    assert counts(space=space, trials=3, sampler="grid").among(3)[SCHEDULE] == pytest.approx(2)


def test_proposals_that_are_made_count_as_they_are() -> None:
    plan = Search(space=SPACE, trials=40, confirm=None, sampler="random")
    made = [{LOSS: "margin", SCHEDULE: "linear", RATE: 1e-3}] * 9
    assert 9 <= ExpectedCounts(plan, made).among(10)[SCHEDULE] <= 10
