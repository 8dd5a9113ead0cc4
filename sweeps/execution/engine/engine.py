"""The interface "run these orders": where and when is an engine's, what they are is not."""

from typing import Protocol

from sweeps.execution.engine.messages import Event, Next, Order, Stop


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
