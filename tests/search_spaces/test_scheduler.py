"""Schedulers say at which epochs verdicts fall, and which share goes on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_spaces import Asha, Hyperband, Median, NoScheduler, PromotionAsha
from search_spaces.plans.scheduler import SCHEDULERS, Scheduler

shares = st.floats(0.001, 0.999)
schedulers = st.one_of(
    st.just(NoScheduler()),
    st.builds(Asha, grace=shares, reduction_factor=st.integers(2, 5)),
    st.builds(Median, grace=shares, rivals=st.integers(1, 9)),
    st.builds(Hyperband, grace=shares, reduction_factor=st.integers(2, 5)),
)


@given(schedulers, st.integers(1, 300))
def test_rungs_ascend_and_lie_before_the_end(scheduler: Scheduler, num_epochs: int) -> None:
    rungs = scheduler.rungs(num_epochs)
    assert list(rungs) == sorted(set(rungs))
    assert all(0 < rung < num_epochs for rung in rungs)


@pytest.mark.parametrize(
    ("scheduler", "num_epochs", "rungs"),
    [
        (NoScheduler(), 100, ()),
        (Asha(), 100, (25, 75)),
        (Asha(grace=0.5, reduction_factor=2), 16, (8,)),
        (Asha(grace=0.1, reduction_factor=2), 30, (3, 6, 12, 24)),
        (Asha(grace=0.3), 5, (2,)),
        (Asha(), 1, ()),
        (Hyperband(), 27, (3, 9)),
        (Median(), 8, (2, 3, 4, 5, 6, 7)),
        (Median(grace=0.5), 3, (2,)),
    ],
)
def test_rungs_are_where_they_are_said_to_be(
    scheduler: Scheduler, num_epochs: int, rungs: tuple[int, ...]
) -> None:
    assert scheduler.rungs(num_epochs) == rungs


@pytest.mark.parametrize(
    ("scheduler", "surviving_share", "min_rivals"),
    [
        (NoScheduler(), 1, 1),
        (Asha(), 1 / 3, 3),
        (Asha(reduction_factor=2), 0.5, 2),
        (Asha(reduction_factor=2, rivals=10), 0.5, 10),
        (Median(), 0.5, 5),
        (Median(rivals=2), 0.5, 2),
    ],
)
def test_the_share_that_goes_on_needs_rivals(
    scheduler: Scheduler, surviving_share: float, min_rivals: int
) -> None:
    assert (scheduler.surviving_share, scheduler.min_rivals) == (surviving_share, min_rivals)


@pytest.mark.parametrize("grace", [0, 1, -0.5, 2])
def test_the_grace_is_a_part_of_the_training(grace: float) -> None:
    for scheduler in (Asha, PromotionAsha, Hyperband, Median):
        with pytest.raises(ValueError, match="grace"):
            scheduler(grace=grace)


@pytest.mark.parametrize("scheduler", [Asha, PromotionAsha, Hyperband])
def test_one_in_at_least_two_goes_on(scheduler: type[Asha | PromotionAsha | Hyperband]) -> None:
    with pytest.raises(ValueError, match="reduction_factor must be an integer at least 2"):
        scheduler(reduction_factor=1)


def test_each_bracket_of_hyperband_begins_a_rung_later_and_the_last_has_none() -> None:
    hyperband = Hyperband(grace=1 / 81)
    rungs = [hyperband.rungs(81, bracket) for bracket in range(5)]
    assert rungs == [(1, 3, 9, 27), (3, 9, 27), (9, 27), (27,), ()]


def test_proposals_are_dealt_to_brackets_in_the_published_proportions() -> None:
    hyperband = Hyperband(grace=1 / 81)
    brackets = [hyperband.bracket(number, 81) for number in range(143)]
    assert [brackets.count(bracket) for bracket in range(5)] == [81, 34, 15, 8, 5]
    assert {*brackets[:15]} == {0, 1, 2, 3, 4}, "each has its part of the first ones"
    assert [hyperband.bracket(number, 81) for number in range(143, 286)] == brackets
    assert hyperband.bracket(5, 1) == 0, "there is no rung"


def test_a_reduction_beyond_all_measure_deals_too() -> None:
    assert {Hyperband(reduction_factor=10**9).bracket(number, 100) for number in range(99)} == {0}


def test_what_proposals_of_hyperband_take_follows_from_their_brackets() -> None:
    hyperband = Hyperband()  # of 27 epochs: 9, 5 and 3 of 17 proposals
    shares = [(3 + 6 / 3 + 18 / 9) / 27, (9 + 18 / 3) / 27, 1]
    expected = (9 * shares[0] + 5 * shares[1] + 3 * shares[2]) / 17
    assert hyperband.mean_share(27, range(17)) == pytest.approx(expected)
    assert hyperband.mean_share(27, [3]) == shares[hyperband.bracket(3, 27)]


def test_every_scheduler_has_a_distinct_kind() -> None:
    kinds = [scheduler().kind for scheduler in SCHEDULERS]
    assert kinds == ["none", "asha", "promotion", "hyperband", "median"]
