"""Which cells there are to train, and in which order: all at once, or more as others end."""

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.engine.packing import next_to_end_together
from sweeps.execution.worker.trial import TrialOrder
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Outcome


class CellSource(Protocol):
    """Who says which cells there are: all of them at once, or some more as others end."""

    def more(self) -> list[TrialOrder]:
        """Return cells to train next, none where others have to end first or all are there."""
        ...

    def judge(self, trial_key: str, epoch: int, metrics: Mapping[str, float]) -> bool:
        """Hear of an epoch; return whether the trial is stopped there, for good or to wait."""
        ...

    def why_stopped(self, trial_key: str) -> str:
        """Return why a trial was stopped, "" if it was not."""
        ...

    def let_go(self, trial_key: str) -> int:
        """Hear that a trial has no process any more; return the epoch at which it waits, else 0."""
        ...

    def ended(self, trial_key: str, outcome: Outcome) -> None:
        """A cell was filled, its trial was stopped, or it stays empty."""
        ...


class Listed:
    """The empty cells of a design, all known when it starts.

    They come seed by seed, so that a design that is cut short has whole seeds to compare.

    Of each seed the arms come first that took longest on the seeds before: a long training that
    begins last leaves the other machines idle. Those of the last seed come so that all machines
    end together. Where it is not known yet how long the arms take, they come in the order of the
    design.

    Source: Graham 1969, "Bounds on multiprocessing timing anomalies", the longest first.
    Difference: only among the cells of a seed.

    Args:
        orders: The cells.
        clock: In seconds.
    """

    def __init__(
        self, orders: Iterable[TrialOrder], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._orders: dict[str, TrialOrder] = {}
        seeds = defaultdict[int, list[TrialOrder]](list)
        for order in orders:
            unjudged = order.model_copy(update={"is_judged": False})
            self._orders[order.head.trial_key] = unjudged
            seeds[order.head.seed].append(unjudged)
        self._seeds = deque(seeds.values())
        self._of_this_seed: list[TrialOrder] = []
        self._clock = clock
        self._seconds: dict[str, float] = {}
        self._begun_at: dict[str, float] = {}  # of those that were returned and have not ended

    def more(self) -> list[TrialOrder]:
        """Return the next cell, none where all have been returned."""
        if not self._of_this_seed:
            if not self._seeds:
                return []
            self._of_this_seed = self._seeds.popleft()
        one = self._of_this_seed.pop(self._place_of_next())
        self._begun_at[one.head.trial_key] = self._clock()
        return [one]

    def judge(self, trial_key: str, epoch: int, metrics: Mapping[str, float]) -> bool:
        """Let every trial run to its end."""
        return False

    def why_stopped(self, trial_key: str) -> str:
        """Return that no trial is stopped."""
        return ""

    def let_go(self, trial_key: str) -> int:
        """Return that no trial waits."""
        return 0

    def ended(self, trial_key: str, outcome: Outcome) -> None:
        """Note how long a finished trial took, for those of its arm that follow."""
        self._begun_at.pop(trial_key, None)
        if outcome is Outcome.FINISHED:
            order = self._orders[trial_key]
            with suppress(BadInput, OSError):
                final = CellFolder(Path(order.cells), trial_key).read_final()
                self._seconds |= {order.head.arm: final.duration_seconds} if final else {}

    def _place_of_next(self) -> int:
        """Return the place, among what is left of this seed, of the cell that is to come next."""
        seconds = [self._expected_seconds(order) for order in self._of_this_seed]
        busy = [
            max(0.0, self._expected_seconds(self._orders[key]) - (self._clock() - begun_at))
            for key, begun_at in self._begun_at.items()
        ]
        if not self._seeds and all(map(math.isfinite, seconds + busy)):
            return next_to_end_together(seconds, busy)
        return seconds.index(max(seconds))

    def _expected_seconds(self, order: TrialOrder) -> float:
        return self._seconds.get(order.head.arm, math.inf)
