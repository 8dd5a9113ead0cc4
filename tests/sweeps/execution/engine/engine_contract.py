"""What every engine has to do, whatever runs its jobs: checks for those that this package has and
for those of others.

An engine trains real trials of one epoch or more in the cells' folders; only folders and events say
what it did.
"""

from collections import deque
from collections.abc import Callable
from pathlib import Path

from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.engine.engine import (
    Engine,
    EngineSetting,
    EpochEnded,
    Event,
    Job,
    Next,
    Stop,
    TrialEnded,
    TrialStarted,
)
from sweeps.execution.engine.failure_policy import Failure
from sweeps.execution.worker.evaluation import EvaluationJob
from sweeps.execution.worker.trial import TrialJob
from sweeps.records.trial_record import Outcome
from tests.sweeps.execution.worker.trials import NUM_EPOCHS, folder_of, job_of

EngineMaker = Callable[[EngineSetting], Engine]
_WAITS = 2


class Driver:
    """Gives out jobs and notes the events.

    Args:
        jobs: In their order.
        stop_after: Trial key -> the epoch after which it is stopped.
    """

    def __init__(self, *jobs: Job, stop_after: dict[str, int] | None = None) -> None:
        self.started = set[str]()
        self.epochs: dict[str, list[int]] = {}
        self.ended: list[TrialEnded] = []
        self._jobs = deque[Job](jobs)
        self._stop_after = stop_after or {}
        self._running = set[str]()
        self._num_waits = 0

    def next(self) -> Job | Next:
        """Return no job twice before the last one; the engine then has to ask again."""
        if self._running and not self._jobs:
            return Next.WAIT
        if len(self._jobs) == 1 and self._num_waits < _WAITS:
            self._num_waits += 1
            return Next.WAIT
        if not self._jobs:
            return Next.DONE
        job = self._jobs.popleft()
        assert not self._running & {*job.trial_keys}
        self._running |= {*job.trial_keys}
        return job

    def tell(self, event: Event) -> Stop | None:
        """Note an event."""
        key = event.trial_key
        assert key in self._running, "only running trials are reported"
        if isinstance(event, TrialStarted):
            assert key not in self.started, "a start is reported once"
            self.started.add(key)
            return None
        assert key in self.started, "a trial starts before anything else is reported of it"
        if isinstance(event, TrialEnded):
            self._running.remove(key)
            self.started.remove(key)
            self.ended.append(event)
            return None
        assert isinstance(event, EpochEnded)
        epoch = event.result.epoch
        self.epochs.setdefault(key, []).append(epoch)
        return Stop(trial_key=key) if self._stop_after.get(key) == epoch else None


def check_engine(make: EngineMaker, folder: Path) -> None:
    """Check an engine with a trial that finishes, one that is stopped, and one that raises.

    The first two are to be evaluated once they are trained. Then with evaluations of the first, one
    of which raises.
    """
    complete, stopped = (
        job_of(folder / "cells", seed).model_copy(
            update={"evaluations": ({"kind": "shifted_test_error"},)}
        )
        for seed in (0, 1)
    )
    broken = job_of(folder / "cells", 2)
    config = broken.spec.config | {"batch_size": "none"}
    broken = broken.model_copy(update={"spec": broken.spec.model_copy(update={"config": config})})
    keys = [job.spec.trial_key for job in (complete, stopped, broken)]
    jobs = [Job(trials=(job,)) for job in (complete, stopped, broken)]
    driver = Driver(*jobs, stop_after={keys[1]: 2})

    with make(EngineSetting(folder / "engine.log", lambda _: None, num_ready=1)) as engine:
        assert sum(machine.cpus for machine in engine.machines) > 0
        engine.run(driver, driver, num_concurrent=1)
        looking = Driver(_evaluating(complete, "confidence"), _evaluating(complete, "unknown"))
        engine.run(looking, looking, num_concurrent=1)

    ended = {event.trial_key: event for event in driver.ended}
    assert sorted(ended) == sorted(keys)
    assert len(driver.ended) == len(keys), "each end is reported once"
    assert driver.epochs == {keys[0]: [*range(1, NUM_EPOCHS + 1)], keys[1]: [1, 2]}
    assert [ended[key].failure for key in keys] == [None, None, Failure.RAISED]
    assert "batch_size" in ended[keys[2]].reason
    final = folder_of(complete).read_final()
    assert final is not None
    assert final.outcome is Outcome.FINISHED
    assert folder_of(stopped).read_final() is None
    assert not folder_of(stopped).is_busy()
    assert len(CellEvaluations(folder_of(complete).path).keys()) == 2
    assert not CellEvaluations(folder_of(stopped).path).keys()
    assert [event.failure for event in looking.ended] == [None, Failure.RAISED]
    assert "unknown" in looking.ended[1].reason


def _evaluating(trained: TrialJob, kind: str) -> Job:
    spec = trained.spec
    evaluation = EvaluationJob(
        cells=trained.cells,
        trial_key=spec.trial_key,
        seed=spec.seed,
        config=spec.config,
        weights=str(folder_of(trained).weights),
        evaluations=({"kind": kind},),
    )
    return Job(evaluations=(evaluation,))
