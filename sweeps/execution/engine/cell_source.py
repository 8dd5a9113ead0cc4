"""Which cells there are to train, and in which order: all at once, or more as others end."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from sweeps.execution.cells.folder import CellFolder
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
    begins last leaves the other machines idle. Where that is not known yet, they come in the order
    of the design.

    Source: Graham 1969, "Bounds on multiprocessing timing anomalies", the longest first.
    Difference: only among the cells of a seed.
    """

    def __init__(self, orders: Iterable[TrialOrder]) -> None:
        self._orders: dict[str, TrialOrder] = {}
        seeds = defaultdict[int, list[TrialOrder]](list)
        for order in orders:
            self._orders[order.head.trial_key] = order
            seeds[order.head.seed].append(order)
        self._seeds = iter(seeds.values())
        self._seconds: dict[str, float] = {}

    def more(self) -> list[TrialOrder]:
        """Return the cells of the next seed, none where all have been returned."""
        return sorted(next(self._seeds, []), key=self._expected_seconds, reverse=True)

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
        if outcome is Outcome.FINISHED:
            order = self._orders[trial_key]
            with suppress(BadInput, OSError):
                final = CellFolder(Path(order.cells), trial_key).read_final()
                self._seconds |= {order.head.arm: final.duration_seconds} if final else {}

    def _expected_seconds(self, order: TrialOrder) -> float:
        return self._seconds.get(order.head.arm, math.inf)
