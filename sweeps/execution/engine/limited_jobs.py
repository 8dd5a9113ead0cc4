"""The jobs of a launch, of which so many run at once as its limit says, which may change."""

from typing import Protocol

from sweeps.execution.engine.engine import (
    ConcurrencyLimit,
    Event,
    Events,
    Job,
    Jobs,
    Next,
    Stop,
    TrialEnded,
)


class _Queue(Jobs, Events, Protocol):
    """Gives jobs and takes their events."""


class LimitedJobs:
    """Jobs of a queue, of which no more are handed out than may run at once.

    Those that run when the limit falls go on to their ends. A limit that has risen counts when the
    engine next asks.

    Args:
        queue: Gives the jobs.
        limit: How many may run.
    """

    def __init__(self, queue: _Queue, limit: ConcurrencyLimit) -> None:
        self._queue = queue
        self._limit = limit
        self._running: dict[str, int] = {}  # trial key -> number of its job
        self._num_handed_out = 0

    def next(self) -> Job | Next:
        """Return the next job, WAIT while as many run as may."""
        most = self._limit.most
        if most is not None and len({*self._running.values()}) >= most:
            return Next.WAIT
        answer = self._queue.next()
        if isinstance(answer, Job):
            self._num_handed_out += 1
            self._running |= dict.fromkeys(answer.trial_keys, self._num_handed_out)
        return answer

    def tell(self, event: Event) -> Stop | None:
        """Pass an event on."""
        if isinstance(event, TrialEnded):
            self._running.pop(event.trial_key, None)
        return self._queue.tell(event)
