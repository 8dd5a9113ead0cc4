"""By default a killed trial is restarted three times, and one that raised is not."""

import pytest

from sweeps.execution.engine.failure_policy import (
    FailedAttempt,
    Failure,
    GiveUp,
    Retry,
    restart_killed,
)

KILLED = FailedAttempt(failure=Failure.KILLED)
RAISED = FailedAttempt(failure=Failure.RAISED, reason="ValueError: no")
OUT_OF_MEMORY = FailedAttempt(failure=Failure.KILLED, reason="out of memory")


@pytest.mark.parametrize("num_kills", [1, 2, 3])
def test_a_killed_trial_goes_on_at_once(num_kills: int) -> None:
    assert restart_killed([KILLED] * num_kills) == Retry(after_seconds=0.0)


def test_one_that_is_killed_again_and_again_is_given_up() -> None:
    assert restart_killed([KILLED] * 4) == GiveUp(reason="its process was killed 4 times")


def test_one_that_raised_is_given_up_with_what_it_raised() -> None:
    assert restart_killed([RAISED]) == GiveUp(reason="ValueError: no")
    assert restart_killed([KILLED, KILLED, RAISED]) == GiveUp(reason="ValueError: no")


def test_the_reason_of_the_last_kill_is_told_where_it_is_known() -> None:
    assert restart_killed([OUT_OF_MEMORY]) == Retry()
    assert restart_killed([OUT_OF_MEMORY] * 4) == GiveUp(reason="out of memory")
