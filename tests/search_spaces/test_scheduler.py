"""Schedulers say at which epochs verdicts fall, and which share goes on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_spaces import Asha, Median, NoScheduler
from search_spaces.plans.scheduler import SCHEDULERS, Scheduler

shares = st.floats(0.001, 0.999)
schedulers = st.one_of(
    st.just(NoScheduler()),
    st.builds(Asha, grace=shares, reduction_factor=st.integers(2, 5)),
    st.builds(Median, grace=shares, rivals=st.integers(1, 9)),
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
    for scheduler in (Asha, Median):
        with pytest.raises(ValueError, match="grace"):
            scheduler(grace=grace)


def test_one_in_at_least_two_goes_on() -> None:
    with pytest.raises(ValueError, match="reduction_factor must be an integer at least 2"):
        Asha(reduction_factor=1)


def test_every_scheduler_has_a_distinct_kind() -> None:
    kinds = [scheduler().kind for scheduler in SCHEDULERS]
    assert kinds == ["none", "asha", "promotion", "median"]
