"""What the driver and its engine's process say to each other besides jobs and events.

driver                        engine's process
Begin                  ->
                       <-     Ready, or Refused
Print                  ->     where it began before it was known
Train                  ->
                       <-     Ask, TrialStarted, EpochEnded, TrialEnded
Job, Word, Stop, GoOn  ->
                       <-     Say
                       <-     Over
                       <-     Pulse, at any time
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from sweeps.execution.engine.engine import EpochEnded, Job, Next, Stop, TrialEnded, TrialStarted
from sweeps.execution.engine.placement import Machine


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Begin(_Message):
    """Start Ray in a scratch folder, or join the cluster at an address.

    Attributes:
        num_ready: How many worker processes a Ray that is started here starts at once.
    """

    type: Literal["begin"] = "begin"
    address: str | None
    scratch: str
    num_ready: int | None = None


class Ready(_Message):
    """Ray is there.

    Attributes:
        machines: What each has.
        processes: Ids of those that Ray cannot do without, where they were started here.
    """

    type: Literal["ready"] = "ready"
    machines: tuple[Machine, ...]
    processes: tuple[int, ...] = ()


class Refused(_Message):
    """Ray is not there, and why, in one sentence."""

    type: Literal["refused"] = "refused"
    sentence: str


class Print(_Message):
    """Print to this file from now on."""

    type: Literal["print"] = "print"
    log: str


class Train(_Message):
    """Ask for jobs, and run so many at once at most.

    Attributes:
        num_concurrent: How many; of a joined cluster where nothing divides it among launches.
        max_concurrent: How many at most in any cluster; None for any number.
        share: Weight of the launch's share of a joined cluster.
    """

    type: Literal["train"] = "train"
    num_concurrent: int
    max_concurrent: int | None = None
    share: float = 1.0


class Ask(_Message):
    """Is there a job?

    Attributes:
        machines: What each has that a joined cluster has now; None where they stay as they are.
    """

    type: Literal["ask"] = "ask"
    machines: tuple[Machine, ...] | None = None


class Word(_Message):
    """There is none, now or at all."""

    type: Literal["word"] = "word"
    next: Next


class GoOn(_Message):
    """The answer to an epoch after which the trial goes on."""

    type: Literal["go on"] = "go on"


class Pulse(_Message):
    """The process lives.

    Attributes:
        num_misses: How often in a row the cluster has left a question without an answer.
    """

    type: Literal["pulse"] = "pulse"
    num_misses: int = 0


class Say(_Message):
    """Show a sentence in the live view."""

    type: Literal["say"] = "say"
    sentence: str


class Over(_Message):
    """All that was handed out has ended, and no more is asked for."""

    type: Literal["over"] = "over"


FromEngine = Ready | Refused | Ask | TrialStarted | EpochEnded | TrialEnded | Say | Pulse | Over
FROM_ENGINE: TypeAdapter[FromEngine] = TypeAdapter(
    Annotated[FromEngine, Field(discriminator="type")]
)
FromDriver = Begin | Print | Train | Job | Word | Stop | GoOn
FROM_DRIVER: TypeAdapter[FromDriver] = TypeAdapter(
    Annotated[FromDriver, Field(discriminator="type")]
)
