"""The interface "run these orders": where and when is an engine's, what they are is not."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from sweeps.execution.engine.failure_policy import Failure
from sweeps.execution.engine.placement import Share
from sweeps.execution.worker.trial import TrialOrder


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class Order(_Message):
    """A bundle handed out: the trials that one process trains together, one for now.

    Attributes:
        trials: What its process needs to train each.
        share: What it gets of a machine.
    """

    type: Literal["order"] = "order"
    trials: Annotated[tuple[TrialOrder, ...], Field(min_length=1)]
    share: Share = Share()

    @property
    def trial_keys(self) -> tuple[str, ...]:
        """Of its trials."""
        return tuple(trial.head.trial_key for trial in self.trials)


class Next(StrEnum):
    """What to do when there is no order to hand out."""

    WAIT = "wait"
    DONE = "done"


class EpochTold(_Message):
    """A trial finished an epoch.

    Attributes:
        metrics: What the worker tells of it, by name.
    """

    type: Literal["epoch"] = "epoch"
    trial_key: str
    epoch: int
    metrics: dict[str, Any]


class EpochsTold(_Message):
    """A worker's word to the engine: epochs of one trial, in their order.

    Attributes:
        epochs: One where it is judged, as many as are kept together where it is not.
    """

    epochs: Annotated[tuple[EpochTold, ...], Field(min_length=1)]


class TrialEnded(_Message):
    """A trial has no process any more, however that ended: what became of it its folder tells.

    Attributes:
        failure: What the engine alone may know of its process; None where it knows of nothing.
        reason: What its process raised, or why it is lost; "" where it was just killed.
    """

    type: Literal["ended"] = "ended"
    trial_key: str
    failure: Failure | None = None
    reason: str = ""


class Stop(_Message):
    """The answer to an epoch after which the trial is not to go on."""

    type: Literal["stop"] = "stop"
    trial_key: str


Event = EpochTold | TrialEnded


class CannotGoOn(Exception):  # noqa: N818 - reads as what it is
    """Training ends before its time: one sentence says why. What was trained is kept."""


class Orders(Protocol):
    """Where an engine takes its orders from."""

    def next(self) -> Order | Next:
        """Return an order, or that none is there now, or that none will be."""
        ...


class Events(Protocol):
    """Who an engine tells what happens, one at a time and in the order in which it happened."""

    def tell(self, event: Event) -> Stop | None:
        """Hear of an epoch or an end; answer an epoch with whether its trial is stopped there."""
        ...


class Engine(Protocol):
    """Runs orders as there is room. All it keeps is scratch: folders and journal are the truth."""

    def run(self, orders: Orders, events: Events) -> None:
        """Train what is ordered. Returns when nothing is left and all that ran has been told of.

        Each trial that was handed out is told of once as ended. An engine asks for orders again
        until it hears that it is done: what has ended may be ordered anew.

        Raises:
            CannotGoOn: If it is broken for good.
        """
        ...
