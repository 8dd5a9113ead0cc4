"""Failure policy: what follows an attempt at a trial that left its cell empty.

A policy is a pure function of how all attempts of a launch ended, so that another one is one
function handed in by argument.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

MAX_RESTARTS = 3
GpuShare = Literal["usual", "twice", "whole"]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Failure(StrEnum):
    """How an attempt ended without an outcome."""

    KILLED = "killed"
    """Its process was killed for an unknown reason."""
    RAISED = "raised"
    """The training raised."""
    BUG = "bug"
    """The training raised an error that another attempt would raise again."""
    OUT_OF_MEMORY = "out of memory"
    """It could not allocate memory, or was killed because there was none left."""
    OUT_OF_GPU_MEMORY = "out of GPU memory"
    """It could not allocate memory of its GPU, or no more than its part of it."""
    LOST = "lost"
    """Its machine or the engine was lost, which is not its fault."""


class FailedAttempt(_Value):
    """An attempt that left its cell empty.

    Attributes:
        failure: How it ended.
        reason: What it raised, or why its process was killed; "" if unknown.
        has_whole_gpu: Whether it had a GPU to itself.
        last_line: The line at which it was when it was killed, "" if unknown.
    """

    failure: Failure
    reason: str = ""
    has_whole_gpu: bool = True
    last_line: str = ""


class Retry(_Value):
    """Resume from the last checkpoint.

    Attributes:
        after_seconds: How long it waits first.
        is_alone: Whether it gets a whole machine, because it ran out of memory next to others.
        gpu: Whether it gets twice its share of a GPU, or a whole GPU, as GPU memory ran out.
    """

    after_seconds: float = 0.0
    is_alone: bool = False
    gpu: GpuShare = "usual"


class GiveUp(_Value):
    """Leave the cell empty for this launch.

    Attributes:
        reason: What the record of the trial says.
    """

    reason: str


FailurePolicy = Callable[[Sequence[FailedAttempt]], Retry | GiveUp]


def restart_blameless(attempts: Sequence[FailedAttempt]) -> Retry | GiveUp:
    """Retry what may succeed: not the same error twice, but any number of lost machines.

    A trial that was killed is restarted three times, one that raised once, and once more for each
    other fault, three times at most; never one with a bug. One that ran out of memory is tried once
    more on a machine of its own. One that ran out of a GPU's memory gets twice its share of one,
    then a whole one.

    Args:
        attempts: At least one, the last one last.
    """
    last = attempts[-1]
    count = Counter(attempt.failure for attempt in attempts)
    is_alone = count[Failure.OUT_OF_MEMORY] > 0
    repeats = sum(attempt == last for attempt in attempts)
    num_same = count[last.failure]
    if last.failure is Failure.BUG:
        return GiveUp(reason=last.reason)
    if last.failure is Failure.OUT_OF_GPU_MEMORY and last.has_whole_gpu and num_same > 1:
        return GiveUp(reason=last.reason)
    if last.failure is Failure.KILLED and num_same > MAX_RESTARTS:
        return GiveUp(
            reason=last.reason or f"its process was killed {num_same} times{_place(last)}"
        )
    if last.failure is Failure.OUT_OF_MEMORY and num_same > 1:
        return GiveUp(reason=last.reason)
    if last.failure is Failure.RAISED and (repeats > 1 or num_same > MAX_RESTARTS):
        return GiveUp(reason=last.reason)
    num_gpu = count[Failure.OUT_OF_GPU_MEMORY]
    gpu: GpuShare = "usual" if not num_gpu else "twice" if num_gpu == 1 else "whole"
    return Retry(is_alone=is_alone, gpu=gpu)


def why_restarted(attempts: Sequence[FailedAttempt]) -> str:
    """Return in words why the last attempt is retried."""
    last = attempts[-1]
    if last.failure is Failure.KILLED:
        num_kills = sum(attempt.failure is Failure.KILLED for attempt in attempts)
        return f"its process was killed, {num_kills} times so far{_place(last)}"
    if last.failure is Failure.RAISED:
        return f"it raised {last.reason}"
    if last.failure is Failure.OUT_OF_GPU_MEMORY and not last.has_whole_gpu:
        num = sum(attempt.failure is Failure.OUT_OF_GPU_MEMORY for attempt in attempts)
        gets = "twice its share" if num == 1 else "a whole one"
        return f"its share of a GPU's memory was too small, so it gets {gets}"
    return last.reason


def _place(killed: FailedAttempt) -> str:
    return f", at last at {killed.last_line}" if killed.last_line else ""
