"""An engine without Ray: jobs run in this process by turns of one epoch, on machines of paper.

Every message crosses as JSON, as it would to another process.
"""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel

from sweeps.execution.engine.engine import (
    EpochEnded,
    Events,
    Job,
    Jobs,
    Next,
    Stop,
    TrialEnded,
    TrialStarted,
)
from sweeps.execution.engine.placement import Machine, Share
from sweeps.execution.worker.trial import TrialJob

Training = Generator[EpochEnded | None, Stop | None, None]
"""Yields each epoch and is sent the answer; yields None where it ends stopped, its cell held."""


_Message = TypeVar("_Message", bound=BaseModel)


def across(message: _Message) -> _Message:
    """Return a message as it arrives in another process."""
    return type(message).model_validate_json(message.model_dump_json())


def nothing_to_wait_for() -> None:
    """Where nobody else could fill a cell or let time pass."""
    raise AssertionError("nothing else runs that could be waited for")


@dataclass
class _Run:
    job: Job
    machine: int
    training: Training
    answer: Stop | None = None


@dataclass
class SimulatedEngine:
    """Runs jobs by turns.

    Attributes:
        train: Makes the training of a trial.
        machines: What they have.
        idle: Called where nothing runs and there is something to wait for.
        together: Of each turn, the keys of the trials that ran, by machine.
    """

    train: Callable[[TrialJob], Training]
    machines: Sequence[Machine] = (Machine(cpus=1),)
    idle: Callable[[], None] = nothing_to_wait_for
    together: list[list[tuple[str, ...]]] = field(default_factory=list[list[tuple[str, ...]]])

    def run(self, jobs: Jobs, events: Events, num_concurrent: int) -> None:
        """Run jobs until there are no more."""
        running, waiting = deque[_Run](), None
        while True:
            answer: Next | None = None
            while len(running) < num_concurrent:
                answer, waiting = self._fetch(jobs, waiting)
                if waiting is None or (machine := self._room(running, waiting.share)) is None:
                    break
                running.append(_Run(waiting, machine, self.train(waiting.trials[0])))
                events.tell(across(TrialStarted(trial_key=waiting.trial_keys[0])))
                waiting = None
            if running:
                self._note(running)
                run = running.popleft()
                if self._turn(run, events):
                    running.append(run)
            elif answer is Next.DONE:
                return
            else:
                assert waiting is None, f"fits on no machine: {waiting}"
                self.idle()

    def _fetch(self, jobs: Jobs, waiting: Job | None) -> tuple[Next | None, Job | None]:
        if waiting:
            return None, waiting
        answer = jobs.next()
        return (answer, None) if isinstance(answer, Next) else (None, across(answer))

    def _turn(self, run: _Run, events: Events) -> bool:
        """Train one epoch; return whether the trial goes on."""
        (key,) = run.job.trial_keys
        try:
            report = run.training.send(run.answer)
        except StopIteration:
            report = None
        if report is not None:
            answer = events.tell(across(report))
            run.answer = answer and across(answer)
            return True
        events.tell(across(TrialEnded(trial_key=key)))
        run.training.close()  # the process may hold its cell for a while yet
        return False

    def _room(self, running: Sequence[_Run], share: Share) -> int | None:
        """Return a machine on which a share is free."""
        for number, machine in enumerate(self.machines):
            taken = [run.job.share for run in running if run.machine == number]
            cpus = machine.cpus - sum(share.cpus for share in taken)
            gpus = machine.gpus - sum(share.gpus for share in taken)
            if share.cpus <= cpus and share.gpus <= gpus + 1e-9:
                return number
        return None

    def _note(self, running: Sequence[_Run]) -> None:
        keys = [run.job.trial_keys[0] for run in running]
        places = [run.machine for run in running]
        self.together.append(
            [
                tuple(key for key, place in zip(keys, places, strict=True) if place == number)
                for number in range(len(self.machines))
            ]
        )
