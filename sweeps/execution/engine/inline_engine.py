"""Training in the process of the launch, without Ray, one job at a time.

Breakpoints, profilers and tracebacks reach a user's own code, and what it prints stands in the
terminal. Folders, records and results are those of a launch through Ray.
"""

import time
from bdb import BdbQuit
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from sweeps.execution.cells.folder import reason_of
from sweeps.execution.engine.engine import (
    EngineSetting,
    EpochTold,
    Events,
    Jobs,
    Next,
    TrialEnded,
)
from sweeps.execution.engine.failure_policy import Failure
from sweeps.execution.engine.placement import Machine
from sweeps.execution.interruption import Interrupted
from sweeps.execution.worker.trial import TrialJob, run_trial

_RETRY_SECONDS = 0.1


class _Stopped(SystemExit):
    """The trial is to stop after the epoch that it has reported."""


class InlineEngine:
    """Trains in this process; an `Engine`."""

    def __init__(self, setting: EngineSetting) -> None:
        del setting
        self.num_concurrent = 1

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

    def run(self, jobs: Jobs, events: Events) -> None:
        """Train each job to its end.

        Raises:
            Interrupted: If somebody leaves a debugger with `quit`.
        """
        while (job := jobs.next()) is not Next.DONE:
            if job is Next.WAIT:  # for a cell that another sweep trains, or a retry
                time.sleep(_RETRY_SECONDS)
                continue
            for trial in job.trials:
                events.tell(_trained(trial, events))


def _trained(trial: TrialJob, events: Events) -> TrialEnded:
    """Train a trial; return how its end is reported."""
    import torch

    key, threads = trial.spec.trial_key, torch.get_num_threads()

    def report(epochs: Sequence[dict[str, Any]]) -> None:
        answers = [events.tell(EpochTold.of(epoch)) for epoch in epochs]
        if any(answers):
            raise _Stopped

    torch.set_num_threads(trial.spec.threads)
    try:
        run_trial(trial, report, has_own_process=False)
    except (_Stopped, TimeoutError):  # the latter where another process trains the cell
        return TrialEnded(trial_key=key)
    except BdbQuit as error:
        raise Interrupted from error
    except Exception as error:  # noqa: BLE001 - whatever a user's code raises
        return TrialEnded(trial_key=key, failure=Failure.RAISED, reason=reason_of(error))
    finally:
        torch.set_num_threads(threads)
    return TrialEnded(trial_key=key)
