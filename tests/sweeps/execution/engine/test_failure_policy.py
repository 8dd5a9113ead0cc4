"""What may go well is tried again, and the same fault twice is not tried a third time."""

import pytest

from sweeps.execution.engine.failure_policy import (
    FailedAttempt,
    Failure,
    GiveUp,
    Retry,
    restart_blameless,
)

KILLED = FailedAttempt(failure=Failure.KILLED)
RAISED = FailedAttempt(failure=Failure.RAISED, reason="ValueError: no")
OUT_OF_MEMORY = FailedAttempt(failure=Failure.OUT_OF_MEMORY, reason="out of memory: 3 GiB")
LOST = FailedAttempt(failure=Failure.LOST, reason="its machine went away")


def raised(reason: str) -> FailedAttempt:
    return FailedAttempt(failure=Failure.RAISED, reason=reason)


@pytest.mark.parametrize("num_kills", [1, 2, 3])
def test_a_killed_trial_goes_on_at_once(num_kills: int) -> None:
    assert restart_blameless([KILLED] * num_kills) == Retry(after_seconds=0.0)


def test_one_that_is_killed_again_and_again_is_given_up() -> None:
    assert restart_blameless([KILLED] * 4) == GiveUp(reason="its process was killed 4 times")


def test_a_fault_that_comes_twice_is_not_tried_a_third_time() -> None:
    assert restart_blameless([RAISED]) == Retry()
    assert restart_blameless([RAISED, RAISED]) == GiveUp(reason="ValueError: no")
    assert restart_blameless([RAISED, KILLED, LOST, RAISED]) == GiveUp(reason="ValueError: no")


def test_a_bug_is_not_tried_again() -> None:
    bug = FailedAttempt(failure=Failure.BUG, reason="NameError: name 'x' is not defined")
    assert restart_blameless([bug]) == GiveUp(reason=bug.reason)


def test_ever_new_faults_come_to_an_end_too() -> None:
    attempts = [raised(f"OSError: {number}") for number in range(4)]
    assert restart_blameless(attempts[:3]) == Retry()
    assert restart_blameless(attempts) == GiveUp(reason="OSError: 3")


def test_what_ran_out_of_memory_is_tried_once_more_with_a_machine_of_its_own() -> None:
    assert restart_blameless([OUT_OF_MEMORY]) == Retry(is_alone=True)
    assert restart_blameless([OUT_OF_MEMORY, LOST]) == Retry(is_alone=True), "still"
    other = FailedAttempt(failure=Failure.OUT_OF_MEMORY, reason="out of memory: 7 GiB")
    assert restart_blameless([OUT_OF_MEMORY, KILLED, other]) == GiveUp(reason=other.reason)


def test_a_lost_machine_never_counts() -> None:
    assert restart_blameless([LOST] * 100) == Retry()
    assert restart_blameless([*[KILLED] * 3, *[LOST] * 100]) == Retry()


def out_of_gpu_memory(*, has_whole_gpu: bool) -> FailedAttempt:
    return FailedAttempt(
        failure=Failure.OUT_OF_GPU_MEMORY, reason="CUDA out of memory", has_whole_gpu=has_whole_gpu
    )


def test_what_ran_out_of_its_part_of_a_gpu_gets_twice_the_part_and_then_a_whole_one() -> None:
    part, whole_gpu = (out_of_gpu_memory(has_whole_gpu=is_whole) for is_whole in (False, True))
    assert restart_blameless([part]) == Retry(gpu="twice")
    assert restart_blameless([part, LOST, KILLED]) == Retry(gpu="twice"), "still"
    assert restart_blameless([part, part]) == Retry(gpu="whole")
    assert restart_blameless([part, part, whole_gpu]) == GiveUp(reason=whole_gpu.reason)


def test_what_ran_out_of_a_whole_gpu_is_tried_once_more_there() -> None:
    whole_gpu = out_of_gpu_memory(has_whole_gpu=True)
    next_try = restart_blameless([whole_gpu])
    assert isinstance(next_try, Retry)
    assert not next_try.is_alone, "another machine has no larger GPU"
    assert restart_blameless([whole_gpu, whole_gpu]) == GiveUp(reason=whole_gpu.reason)
