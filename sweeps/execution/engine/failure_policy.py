"""Failure policy: what is tried after an attempt at a trial that left its cell empty.

A policy is a pure function of how all attempts of a launch ended, so that another one is one
function handed in by argument.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

MAX_RESTARTS = 3


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Failure(StrEnum):
    """How an attempt ended without an outcome."""

    KILLED = "killed"
    """Its process was killed, nobody knows why."""
    RAISED = "raised"
    """The training raised."""
    OUT_OF_MEMORY = "out of memory"
    """It was refused memory, or killed as there was none left."""
    LOST = "lost"
    """Its machine, or the engine, went away, which is no fault of its own."""


class FailedAttempt(_Value):
    """An attempt that left its cell empty.

    Attributes:
        failure: How it ended.
        reason: What it raised, or why its process was killed; "" where nobody can tell.
    """

    failure: Failure
    reason: str = ""


class Retry(_Value):
    """Go on from the last checkpoint.

    Attributes:
        after_seconds: Not before so long.
        is_alone: Whether it gets all of a machine, as it found no room beside others.
    """

    after_seconds: float = 0.0
    is_alone: bool = False


class GiveUp(_Value):
    """Leave the cell empty for this launch.

    Attributes:
        reason: What the trial's record says of it.
    """

    reason: str


FailurePolicy = Callable[[Sequence[FailedAttempt]], Retry | GiveUp]


def restart_blameless(attempts: Sequence[FailedAttempt]) -> Retry | GiveUp:
    """Try again what may go well: not the same fault twice, but any number of lost machines.

    A trial that was killed is restarted three times, one that raised once, and once more for each
    other fault, three times at most. One that ran out of memory is tried once more on a machine of
    its own.

    Args:
        attempts: At least one, the last one last.
    """
    last = attempts[-1]
    count = Counter(attempt.failure for attempt in attempts)
    is_alone = count[Failure.OUT_OF_MEMORY] > 0
    repeats = sum(attempt == last for attempt in attempts)
    num_same = count[last.failure]
    if last.failure is Failure.KILLED and num_same > MAX_RESTARTS:
        return GiveUp(reason=last.reason or f"its process was killed {num_same} times")
    if last.failure is Failure.OUT_OF_MEMORY and num_same > 1:
        return GiveUp(reason=last.reason)
    if last.failure is Failure.RAISED and (repeats > 1 or num_same > MAX_RESTARTS):
        return GiveUp(reason=last.reason)
    return Retry(is_alone=is_alone)


def why_restarted(attempts: Sequence[FailedAttempt]) -> str:
    """Return in words why the last of some attempts is followed by another."""
    last = attempts[-1]
    if last.failure is Failure.KILLED:
        num_kills = sum(attempt.failure is Failure.KILLED for attempt in attempts)
        return f"its process was killed, {num_kills} times so far"
    if last.failure is Failure.RAISED:
        return f"it raised {last.reason}"
    return last.reason
