"""A launch runs as many jobs at once as its limit says, which may change while they run."""

from collections import deque

import pytest

from capsmodel.metrics import EpochMetrics
from sweeps.execution.engine.engine import (
    ConcurrencyLimit,
    EpochEnded,
    Event,
    Job,
    Next,
    Stop,
    TrialEnded,
)
from sweeps.execution.engine.limited_jobs import LimitedJobs
from sweeps.execution.engine.placement import Machine
from sweeps.execution.worker.trial import TrialJob
from tests.sweeps.execution.engine.simulated_engine import SimulatedEngine, Training
from tests.sweeps.execution.examples import spec

LETTERS = "abcdefghijkl"
NUM_EPOCHS = 3


class Queue:
    """Trials of some epochs each; it changes a limit when so many have ended."""

    def __init__(self, limit: ConcurrencyLimit, changes: dict[int, int | None]) -> None:
        self._waiting = deque(LETTERS)
        self._limit = limit
        self._changes = changes
        self.ended: list[str] = []

    def next(self) -> Job | Next:
        if not self._waiting:
            return Next.DONE
        return Job(trials=(TrialJob(cells="/cells", spec=spec(self._waiting.popleft() * 20)),))

    def tell(self, event: Event) -> Stop | None:
        if isinstance(event, TrialEnded):
            self.ended.append(event.trial_key[0])
            self._limit.most = self._changes.get(len(self.ended), self._limit.most)
        return None


def train(job: TrialJob) -> Training:
    for epoch in range(1, NUM_EPOCHS + 1):
        result = EpochMetrics(
            epoch=epoch, train_loss=0.5, validation_loss=0.5, validation_error=0.5
        )
        yield EpochEnded(trial_key=job.spec.trial_key, result=result)


def numbers_at_once(most: int | None, changes: dict[int, int | None]) -> list[int]:
    """Return how many trials ran in each turn, without equal ones in a row."""
    limit = ConcurrencyLimit(most)
    queue = Queue(limit, changes)
    engine = SimulatedEngine(train, (Machine(cpus=4),))
    jobs = LimitedJobs(queue, limit)
    engine.run(jobs, jobs, num_concurrent=4)
    assert sorted(queue.ended) == list(LETTERS)
    numbers = [len(together[0]) for together in engine.together]
    return [n for place, n in enumerate(numbers) if place == 0 or numbers[place - 1] != n]


@pytest.mark.parametrize(
    ("most", "changes", "numbers"),
    [
        pytest.param(2, {}, [2, 1], id="a limit that stays"),
        pytest.param(4, {2: 1}, [4, 3, 2, 1], id="one that falls ends no trial that runs"),
        pytest.param(1, {2: 3}, [1, 3, 2, 1], id="one that rises"),
        pytest.param(1, {2: None}, [1, 4, 3, 2, 1], id="as many as fit"),
        pytest.param(None, {}, [4, 3, 2, 1], id="none"),
        pytest.param(9, {}, [4, 3, 2, 1], id="more than fit"),
    ],
)
def test_so_many_run_at_once(
    most: int | None, changes: dict[int, int | None], numbers: list[int]
) -> None:
    assert numbers_at_once(most, changes) == numbers


def test_a_job_of_several_trials_counts_once_until_the_last_has_ended() -> None:
    limit = ConcurrencyLimit(1)
    both = Job(trials=tuple(TrialJob(cells="/cells", spec=spec(letter * 20)) for letter in "ab"))
    queue = Queue(limit, {})
    queue.next = iter([both, Next.DONE]).__next__  # type: ignore[method-assign]
    jobs = LimitedJobs(queue, limit)
    assert jobs.next() is both
    for letter in "ab":
        assert jobs.next() is Next.WAIT
        jobs.tell(TrialEnded(trial_key=letter * 20))
    assert jobs.next() is Next.DONE
