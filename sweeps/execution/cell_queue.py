"""Which cell is trained next: what waits, what runs, and what becomes of those that ended.

The cells' folders decide, not the word of whoever ran them: a cell is filled when its final record
is there, failed when its outbox says so, and anything else means that its process was killed.
"""

from collections import Counter, deque
from collections.abc import Iterable
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from typing import Protocol

from sweeps.errors import BadInput
from sweeps.execution.cells import CellFolder
from sweeps.execution.trial import TrialOrder
from sweeps.records import Outcome

MAX_RESTARTS = 3


class Events(Protocol):
    """Who wants to know how a launch goes: the live view and the journal."""

    def started(self, trial_key: str) -> None:
        """A trial was handed out."""
        ...

    def progressed(self, trial_key: str, epoch: int, validation_error: float) -> None:
        """A trial finished an epoch."""
        ...

    def restarted(self, trial_key: str, times: int) -> None:
        """A trial's process was killed; it goes on from its checkpoint."""
        ...

    def ended(self, trial_key: str, outcome: Outcome, reason: str) -> None:
        """A trial was filled, or failed."""
        ...


class Next(Enum):
    """What to do when there is no cell to hand out."""

    WAIT = auto()
    DONE = auto()


class CellQueue:
    """The cells of one launch. Not thread-safe: one loop asks and tells."""

    def __init__(self, orders: Iterable[TrialOrder], events: Events) -> None:
        self._waiting = deque(orders)
        self._running: dict[str, tuple[TrialOrder, int]] = {}
        self._kills: Counter[str] = Counter()
        self._events = events

    def next(self) -> TrialOrder | Next:
        """Hand out a cell that nobody trains. One that another sweep trains is waited for."""
        for _ in range(len(self._waiting)):
            order = self._waiting.popleft()
            folder = _folder(order)
            if folder.is_filled():
                self._tell_filled(folder)
            elif folder.is_busy():
                self._waiting.append(order)
            else:
                self._running[order.head.trial_key] = (order, folder.outbox_size())
                self._events.started(order.head.trial_key)
                return order
        return Next.WAIT if self._waiting or self._running else Next.DONE

    def ended(self, trial_key: str) -> None:
        """Take a cell back whose trial ended in any way, and see what became of it."""
        order, outbox_size = self._running.pop(trial_key)
        folder = _folder(order)
        if folder.is_filled():
            self._tell_filled(folder)
        elif reason := folder.failure_since(outbox_size):
            self._events.ended(trial_key, Outcome.FAILED, reason)
        elif folder.is_busy():
            self._waiting.append(order)
        else:
            self._restart(order, folder)

    def _restart(self, order: TrialOrder, folder: CellFolder) -> None:
        key = order.head.trial_key
        self._kills[key] += 1
        if self._kills[key] <= MAX_RESTARTS:
            self._events.restarted(key, self._kills[key])
            self._waiting.appendleft(order)
            return
        reason = f"its process was killed {self._kills[key]} times"
        # a cell that somebody holds, or that cannot be written to, is no reason to end the others
        with suppress(OSError), folder.lease(wait_seconds=1.0) as fence:
            folder.tell_failure(order.head, fence, reason)
        self._events.ended(key, Outcome.FAILED, reason)

    def _tell_filled(self, folder: CellFolder) -> None:
        try:
            final = folder.read_final()
        except BadInput as error:
            self._events.ended(folder.trial_key, Outcome.FAILED, str(error))
            return
        assert final is not None
        self._events.ended(folder.trial_key, final.outcome, final.reason)


def _folder(order: TrialOrder) -> CellFolder:
    return CellFolder(Path(order.cells), order.head.trial_key)
