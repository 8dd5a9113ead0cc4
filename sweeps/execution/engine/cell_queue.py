"""Which cell is trained next: what waits, what runs, and what becomes of those that ended.

The cells' folders decide, not the word of whoever ran them: a cell is filled when its final record
is there, failed when its outbox says so, and anything else means that its process was killed.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from typing import Protocol

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.worker.trial import TrialOrder
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Outcome

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


class Plan(Protocol):
    """Who says which cells there are: all of them at once, or some more as others end."""

    def more(self) -> list[TrialOrder]:
        """Return cells to train next, none where others have to end first or all are there."""
        ...

    def judge(self, trial_key: str, epoch: int, metrics: Mapping[str, float]) -> bool:
        """Hear of an epoch; return whether the trial is stopped there."""
        ...

    def why_stopped(self, trial_key: str) -> str:
        """Return why a trial was stopped, "" if it was not."""
        ...

    def ended(self, trial_key: str, outcome: Outcome) -> None:
        """A cell was filled, its trial was stopped, or it stays empty."""
        ...


class Listed:
    """The plan of a design: its empty cells, all known when it starts."""

    def __init__(self, orders: Iterable[TrialOrder]) -> None:
        self._orders = list(orders)

    def more(self) -> list[TrialOrder]:
        """Return all cells, and then no more."""
        orders, self._orders = self._orders, []
        return orders

    def judge(self, trial_key: str, epoch: int, metrics: Mapping[str, float]) -> bool:
        """Let every trial run to its end."""
        return False

    def why_stopped(self, trial_key: str) -> str:
        """Return that no trial is stopped."""
        return ""

    def ended(self, trial_key: str, outcome: Outcome) -> None:
        """Nothing follows from it."""


class Next(Enum):
    """What to do when there is no cell to hand out."""

    WAIT = auto()
    DONE = auto()


class CellQueue:
    """The cells of one launch. Not thread-safe: one loop asks and tells."""

    def __init__(self, plan: Plan, events: Events) -> None:
        self._plan = plan
        self._waiting = deque[TrialOrder]()
        self._running: dict[str, tuple[TrialOrder, int]] = {}
        self._kills: Counter[str] = Counter()
        self._events = events

    def next(self) -> TrialOrder | Next:
        """Hand out a cell that nobody trains. One that another sweep trains is waited for."""
        while not (order := self._waiting_order()):
            more = self._plan.more()
            if not more:
                return Next.WAIT if self._waiting or self._running else Next.DONE
            self._waiting.extend(more)
        return order

    def judge(self, trial_key: str, epoch: int, metrics: Mapping[str, float]) -> bool:
        """Hear of a trial's epoch; return whether it is stopped there."""
        return self._plan.judge(trial_key, epoch, metrics)

    def _waiting_order(self) -> TrialOrder | None:
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
        return None

    def ended(self, trial_key: str) -> None:
        """Take a cell back whose trial ended in any way, and see what became of it."""
        order, outbox_size = self._running.pop(trial_key)
        folder = _folder(order)
        if folder.is_filled():
            self._tell_filled(folder)
        elif reason := folder.failure_since(outbox_size):
            self._end(trial_key, Outcome.FAILED, reason)
        elif reason := self._plan.why_stopped(trial_key):
            folder.tell_pruned(order.head, reason, outbox_size)
            self._end(trial_key, Outcome.PRUNED, reason)
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
        self._end(key, Outcome.FAILED, reason)

    def _tell_filled(self, folder: CellFolder) -> None:
        try:
            final = folder.read_final()
        except BadInput as error:
            self._end(folder.trial_key, Outcome.FAILED, str(error))
            return
        assert final is not None
        self._end(folder.trial_key, final.outcome, final.reason)

    def _end(self, trial_key: str, outcome: Outcome, reason: str) -> None:
        self._plan.ended(trial_key, outcome)
        self._events.ended(trial_key, outcome, reason)


def _folder(order: TrialOrder) -> CellFolder:
    return CellFolder(Path(order.cells), order.head.trial_key)
