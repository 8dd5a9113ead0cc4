"""A budget of epochs: a launch that has trained so many hands out no more."""

from sweeps.execution.engine.cell_queue import CellQueue
from sweeps.execution.engine.messages import EpochTold, Event, Next, Order, Stop


class EpochBudget:
    """Orders of a launch until its epochs are spent; what runs then is trained to its end.

    Args:
        queue: Hands out the orders.
        epochs: How many may be trained, None for as many as it takes.
    """

    def __init__(self, queue: CellQueue, epochs: int | None) -> None:
        self._queue = queue
        self._epochs = epochs
        self._num_trained = 0
        self._running: set[str] = set()

    def next(self) -> Order | Next:
        """Return an order while the budget lasts."""
        if self.is_spent:
            return Next.WAIT if self._running else Next.DONE
        order = self._queue.next()
        if isinstance(order, Order):
            self._running |= set(order.trial_keys)
        return order

    def tell(self, event: Event) -> Stop | None:
        """Hear of an epoch, which is spent, or of an end."""
        if isinstance(event, EpochTold):
            self._num_trained += 1
        else:
            self._running.discard(event.trial_key)
        return self._queue.tell(event)

    @property
    def is_spent(self) -> bool:
        """Whether so many epochs were trained."""
        return self._epochs is not None and self._num_trained >= self._epochs

    @property
    def words(self) -> str:
        """How it was spent."""
        return f"The budget of {self._epochs} epochs is spent: {self._num_trained} were trained."
