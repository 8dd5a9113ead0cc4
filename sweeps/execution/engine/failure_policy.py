"""Failure policy: what is tried after an attempt at a trial that left its cell empty.

A policy is a pure function of how all attempts of a launch ended, so that another one is one
function handed in by argument.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

MAX_RESTARTS = 3


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Failure(StrEnum):
    """How an attempt ended without an outcome: its process was killed, or the training raised."""

    KILLED = "killed"
    RAISED = "raised"


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
    """

    after_seconds: float = 0.0


class GiveUp(_Value):
    """Leave the cell empty for this launch.

    Attributes:
        reason: What the trial's record says of it.
    """

    reason: str


FailurePolicy = Callable[[Sequence[FailedAttempt]], Retry | GiveUp]


def restart_killed(attempts: Sequence[FailedAttempt]) -> Retry | GiveUp:
    """Restart a trial whose process was killed, three times; one that raised would raise again.

    Args:
        attempts: At least one, the last one last.
    """
    last = attempts[-1]
    if last.failure is Failure.RAISED:
        return GiveUp(reason=last.reason)
    num_kills = sum(attempt.failure is Failure.KILLED for attempt in attempts)
    if num_kills <= MAX_RESTARTS:
        return Retry()
    return GiveUp(reason=last.reason or f"its process was killed {num_kills} times")
