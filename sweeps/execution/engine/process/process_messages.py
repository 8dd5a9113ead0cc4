"""The messages of the driver and its engine's process, besides jobs and events.

driver                           engine's process
Begin                     ->
                          <-     Ready, or Refused
Print                     ->     only if it was started before its log was known
Train                     ->
                          <-     JobRequest, TrialStarted, EpochEnded, TrialEnded
Job, NoJob, Stop, Proceed ->
                          <-     Notice
                          <-     Finished
                          <-     EnginePulse, at any time
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from sweeps.execution.channel import Message, Pulse
from sweeps.execution.engine.engine import EpochEnded, Job, Next, Stop, TrialEnded, TrialStarted
from sweeps.execution.engine.placement import Machine


class Begin(Message):
    """Start Ray in a scratch folder, or join the cluster at an address.

    Attributes:
        num_ready: How many worker processes a Ray that is started here starts at once.
    """

    type: Literal["begin"] = "begin"
    address: str | None
    scratch: str
    num_ready: int | None = None


class Ready(Message):
    """Ray runs.

    Attributes:
        machines: What each has.
        processes: Ids of those that Ray needs, if they were started here.
    """

    type: Literal["ready"] = "ready"
    machines: tuple[Machine, ...]
    processes: tuple[int, ...] = ()


class Refused(Message):
    """Why Ray does not run, in one sentence."""

    type: Literal["refused"] = "refused"
    sentence: str


class Print(Message):
    """Print to this file from now on."""

    type: Literal["print"] = "print"
    log: str


class Train(Message):
    """Request jobs, and run so many at once at most.

    Attributes:
        num_concurrent: How many; of a joined cluster where nothing divides it among launches.
        max_concurrent: How many at most in any cluster; None for any number.
        share: Weight of the launch's share of a joined cluster.
    """

    type: Literal["train"] = "train"
    num_concurrent: int
    max_concurrent: int | None = None
    share: float = 1.0


class LimitChanged(Message):
    """Run at most so many jobs at once from now on, in any cluster; no answer.

    Attributes:
        max_concurrent: How many; None for any number.
    """

    type: Literal["limit changed"] = "limit changed"
    max_concurrent: int | None


class JobRequest(Message):
    """Ask for a job.

    Attributes:
        machines: Those of a joined cluster now; None if they have not changed.
    """

    type: Literal["job request"] = "job request"
    machines: tuple[Machine, ...] | None = None


class NoJob(Message):
    """There is none, now or at all."""

    type: Literal["no job"] = "no job"
    next: Next


class Proceed(Message):
    """The answer to an epoch after which the trial goes on."""

    type: Literal["proceed"] = "proceed"


class EnginePulse(Pulse):
    """The pulse of the engine's process, with that of its cluster.

    Attributes:
        num_misses: How many questions in a row the cluster has not answered.
    """

    num_misses: int = 0


class Notice(Message):
    """Show a sentence in the live view."""

    type: Literal["notice"] = "notice"
    sentence: str


class Finished(Message):
    """All jobs have ended, and no more are requested."""

    type: Literal["finished"] = "finished"


FromEngine = (
    Ready
    | Refused
    | JobRequest
    | TrialStarted
    | EpochEnded
    | TrialEnded
    | Notice
    | EnginePulse
    | Finished
)
FROM_ENGINE: TypeAdapter[FromEngine] = TypeAdapter(
    Annotated[FromEngine, Field(discriminator="type")]
)
FromDriver = Begin | Print | Train | LimitChanged | Job | NoJob | Stop | Proceed
FROM_DRIVER: TypeAdapter[FromDriver] = TypeAdapter(
    Annotated[FromDriver, Field(discriminator="type")]
)
