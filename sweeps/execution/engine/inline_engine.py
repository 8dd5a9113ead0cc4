"""Training in the process of the launch, without Ray, one job at a time.

Breakpoints, profilers and tracebacks reach a user's own code, and what it prints stands in the
terminal. Folders, records and results are those of a launch through Ray.
"""

import time
from bdb import BdbQuit
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from functools import partial
from types import TracebackType
from typing import Self

from capsmodel.metrics import EpochMetrics
from sweeps.execution.cells.folder import CellBusyError, reason_of
from sweeps.execution.engine.engine import (
    EngineSetting,
    EpochEnded,
    Events,
    Job,
    Jobs,
    Next,
    TrialEnded,
    TrialStarted,
)
from sweeps.execution.engine.failure_policy import Failure
from sweeps.execution.engine.placement import Machine
from sweeps.execution.interruption import Interrupted
from sweeps.execution.worker.evaluation import run_evaluations, train_and_evaluate

_RETRY_SECONDS = 0.1


class _Stopped(SystemExit):
    """The trial is to stop after the epoch that it has reported."""


class _LaunchFailed(SystemExit):
    """What the launch does with an epoch has failed. It passes through the trial unseen."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


class InlineEngine:
    """Trains in this process; an `Engine`."""

    def __init__(self, setting: EngineSetting) -> None:
        del setting

    @property
    def machines(self) -> Sequence[Machine]:
        """This one."""
        from sweeps.execution.engine.capacity import this_machine

        return this_machine()

    def __enter__(self) -> Self:
        """Start nothing."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End nothing."""

    def run(self, jobs: Jobs, events: Events, num_concurrent: int) -> None:
        """Train each job to its end, one at a time whatever number is allowed.

        Raises:
            Interrupted: If somebody leaves a debugger with `quit`.
        """
        del num_concurrent
        while (job := jobs.next()) is not Next.DONE:
            if job is Next.WAIT:  # for a cell that another sweep trains, or a retry
                time.sleep(_RETRY_SECONDS)
                continue
            for event in _done(job, events):
                events.tell(event)


def _done(job: Job, events: Events) -> Iterator[TrialStarted | TrialEnded]:
    """Do a job; yield how start and end of each of its trials are reported."""

    def report(trial_key: str, results: Sequence[EpochMetrics]) -> None:
        try:
            epochs = [EpochEnded(trial_key=trial_key, result=result) for result in results]
            answers = [events.tell(epoch) for epoch in epochs]
        except Exception as error:  # noqa: BLE001 - of the launch, which ends by it, not the trial
            raise _LaunchFailed(error) from None
        if any(answers):
            raise _Stopped

    for trial in job.trials:
        key = trial.spec.trial_key
        yield TrialStarted(trial_key=key)
        train = partial(train_and_evaluate, trial, partial(report, key), has_own_process=False)
        yield _ended(key, trial.spec.threads, train)
    for evaluation in job.evaluations:
        yield TrialStarted(trial_key=evaluation.trial_key)
        evaluate = partial(run_evaluations, evaluation, has_own_process=False)
        yield _ended(evaluation.trial_key, job.share.cpus, evaluate)


def _ended(trial_key: str, threads: int, act: Callable[[], object]) -> TrialEnded:
    """Do something with a trial; return how its end is reported."""
    import torch

    threads_before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with chdir("."):  # a user's code may change to another
            act()
    except _LaunchFailed as failed:
        raise failed.error from None
    except (_Stopped, CellBusyError):
        return TrialEnded(trial_key=trial_key)
    except BdbQuit as error:
        raise Interrupted from error
    except Exception as error:  # noqa: BLE001 - whatever a user's code raises
        return TrialEnded(trial_key=trial_key, failure=Failure.RAISED, reason=reason_of(error))
    finally:
        torch.set_num_threads(threads_before)
    return TrialEnded(trial_key=trial_key)
