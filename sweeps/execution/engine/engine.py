"""The interface of an engine, and the messages that it exchanges with the driver.

They are plain values that can cross a process as JSON.

engine                        driver
asks for the next      ->     a job, or WAIT, or DONE
TrialStarted           ->     nothing
EpochEnded             ->     Stop, or nothing
TrialEnded             ->     nothing
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple, Protocol, Self

from pydantic import BaseModel, ConfigDict, model_validator

from capsmodel.metrics import EpochMetrics
from sweeps.execution.engine.failure_policy import Failure
from sweeps.execution.engine.placement import Machine, Share
from sweeps.execution.worker.evaluation import EvaluationJob
from sweeps.execution.worker.trial import TrialJob


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class Job(_Message):
    """What one process does: train one or more trials, or evaluate trained ones.

    Attributes:
        trials: What its process needs to train each. For now it is one.
        evaluations: What it needs to evaluate each, where it trains none.
        share: What it gets of a machine.
    """

    type: Literal["job"] = "job"
    trials: tuple[TrialJob, ...] = ()
    evaluations: tuple[EvaluationJob, ...] = ()
    share: Share = Share()

    @model_validator(mode="after")
    def _does_one_thing(self) -> Self:
        if bool(self.trials) == bool(self.evaluations):
            raise ValueError("a job trains trials or evaluates them")
        return self

    @property
    def trial_keys(self) -> tuple[str, ...]:
        """Of its trials."""
        of_evaluations = tuple(evaluation.trial_key for evaluation in self.evaluations)
        return tuple(trial.spec.trial_key for trial in self.trials) + of_evaluations


class Next(StrEnum):
    """The answer when there is no job."""

    WAIT = "wait"
    DONE = "done"


class TrialStarted(_Message):
    """A process has begun with a trial. Until then it waits for room on a machine."""

    type: Literal["started"] = "started"
    trial_key: str


class EpochEnded(_Message):
    """A trial finished an epoch."""

    type: Literal["epoch"] = "epoch"
    trial_key: str
    result: EpochMetrics


class TrialEnded(_Message):
    """A trial's process, which trained or evaluated it, has ended. Its folder has the results.

    Attributes:
        failure: What the engine alone knows of the process; None if it knows nothing.
        reason: What its process raised, or why it is lost; "" where it was just killed.
        is_taken_back: Whether it never had a process, as another launch took the room that it
            waited for. It is dispatched again later.
    """

    type: Literal["ended"] = "ended"
    trial_key: str
    failure: Failure | None = None
    reason: str = ""
    is_taken_back: bool = False


class Stop(_Message):
    """The answer to an epoch after which the trial ends."""

    type: Literal["stop"] = "stop"
    trial_key: str


Event = TrialStarted | EpochEnded | TrialEnded


class CannotGoOn(Exception):  # noqa: N818 - reads as what it is
    """Training ends early: one sentence says why. What was trained is kept."""


class Jobs(Protocol):
    """Gives an engine its jobs."""

    def next(self) -> Job | Next:
        """Return a job, WAIT if there is none now, DONE if there will be none."""
        ...


class Events(Protocol):
    """Takes the events of an engine, one at a time, in the order in which they happened."""

    def tell(self, event: Event) -> Stop | None:
        """Handle an event; return a stop for an epoch after which its trial ends."""
        ...


@dataclass
class ConcurrencyLimit:
    """How many jobs of a launch run at once, which another thread may change while it runs.

    Attributes:
        most: Jobs at once at most; None for as many as fit.
    """

    most: int | None = None


class EngineSetting(NamedTuple):
    """What a launch gives the engine that it chooses.

    Attributes:
        log: Takes what the engine prints.
        say: Shows a sentence in the live view.
        address: Of machines that run already; None starts here.
        num_ready: Jobs that will run at once from the beginning; None if that is not known.
        limit: Jobs at once at most, which may change; None for any number.
        share: Weight of the launch's share of machines that run already.
    """

    log: Path
    say: Callable[[str], None]
    address: str | None = None
    num_ready: int | None = None
    limit: ConcurrencyLimit | None = None
    share: float = 1.0


class Engine(Protocol):
    """Runs jobs as there is room. It stores nothing: folders and log are the truth.

    Entering it starts it, or joins machines that run already; leaving it ends all that it started.
    """

    @property
    def machines(self) -> Sequence[Machine]:
        """What each machine has, as seen last."""
        ...

    def __enter__(self) -> Self:
        """Start it.

        Raises:
            BadInput: If it cannot be started or joined.
        """
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it, whatever it is doing."""
        ...

    def run(self, jobs: Jobs, events: Events, num_concurrent: int) -> None:
        """Run jobs until there are no more and the end of each has been reported.

        Each dispatched trial is reported as started when a process begins with it, and once as
        ended. An engine asks for jobs until the answer is DONE, since a trial that has ended may be
        dispatched again.

        Args:
            jobs: Gives the jobs.
            events: Takes what becomes of their trials.
            num_concurrent: Largest number of jobs at once.

        Raises:
            CannotGoOn: If the engine is broken for good.
        """
        ...
