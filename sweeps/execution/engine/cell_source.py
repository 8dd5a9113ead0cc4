"""The cells of a launch and their order: all known at once, or more as others end."""

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Protocol

from capsmodel.metrics import EpochMetrics
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.worker.trial import TrialJob
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Outcome

_MOST_PACKED = 32  # trainings; of more, one is a small part of the whole


def next_to_end_together(seconds: Sequence[float], busy_seconds: Sequence[float]) -> int:
    """Return which training a free machine takes now: the longest of those it will have to take.

    The longest first, each to the machine that is free first, leaves machines idle at the end: of
    3, 3, 2, 2 and 2 hours on two machines it puts 3 and 2 on each, and the last 2 on one of them.
    So trainings are moved and exchanged between the machine that ends last and another, as long as
    both then end earlier than that one did. Who is free next plans anew.

    Source: Graham 1969, "Bounds on multiprocessing timing anomalies", the longest first; Finn and
    Horowitz 1979, "A linear time approximation algorithm for multiprocessor scheduling", moves.
    Difference: exchanges as well as moves.

    Args:
        seconds: That each training which nobody has begun is expected to take, at least one.
        busy_seconds: For how long each other machine is expected to be busy with what it has begun.

    Returns:
        The place of the training in `seconds`.
    """
    longest_first = sorted(range(len(seconds)), key=lambda place: -seconds[place])
    if len(seconds) > _MOST_PACKED:
        return longest_first[0]
    machines = [_Machine(0.0, [])] + [_Machine(busy, []) for busy in busy_seconds]
    for place in longest_first:
        min(machines, key=lambda machine: machine.end(seconds)).places.append(place)
    while _is_improved(machines, seconds):
        pass
    return max(machines[0].places or longest_first, key=lambda place: seconds[place])


class _Machine:
    """A machine: for how long it is busy, and the places of what it takes then."""

    def __init__(self, busy: float, places: list[int]) -> None:
        self.busy = busy
        self.places = places

    def end(self, seconds: Sequence[float]) -> float:
        return self.busy + sum(seconds[place] for place in self.places)

    def exchange(self, moved: int, other: "_Machine", taken: int | None) -> None:
        """Give a training to another machine and take one of its own, or none."""
        self.places.remove(moved)
        other.places.append(moved)
        if taken is not None:
            other.places.remove(taken)
            self.places.append(taken)


def _is_improved(machines: Sequence[_Machine], seconds: Sequence[float]) -> bool:
    """Make the best exchange of the machine that ends last; return whether there was one."""
    last = max(machines, key=lambda machine: machine.end(seconds))
    best, earliest = None, last.end(seconds) * (1 - 1e-9)
    for other, place, other_place in _exchanges(last, machines):
        moved = seconds[place] - (0.0 if other_place is None else seconds[other_place])
        end = max(last.end(seconds) - moved, other.end(seconds) + moved)
        if end < earliest:
            best, earliest = (place, other, other_place), end
    if best:
        last.exchange(*best)
    return best is not None


def _exchanges(
    last: _Machine, machines: Sequence[_Machine]
) -> Iterator[tuple[_Machine, int, int | None]]:
    for other in machines:
        if other is not last:
            for place, other_place in product(last.places, [None, *other.places]):
                yield other, place, other_place


class CellSource(Protocol):
    """Gives the cells of a launch: all at once, or more as others end."""

    def more(self) -> list[TrialJob]:
        """Return cells to train next; none if others have to end first or all were returned."""
        ...

    def judge(self, trial_key: str, result: EpochMetrics) -> bool:
        """Return whether a trial stops after an epoch, for good or to wait."""
        ...

    def why_stopped(self, trial_key: str) -> str:
        """Return why a trial was stopped, "" if it was not."""
        ...

    def let_go(self, trial_key: str) -> int:
        """Record that a trial has no process any more; return the epoch at which it waits, or 0."""
        ...

    def ended(self, trial_key: str, outcome: Outcome) -> None:
        """A cell was filled, its trial was stopped, or it stays empty."""
        ...


class ListedCells:
    """The empty cells of a design, all known when it starts.

    They come seed by seed, so that a design that is cut short has whole seeds to compare.

    Of each seed the arms come first that took longest on the seeds before: a long training that
    begins last leaves the other machines idle. Those of the last seed come so that all machines
    end together. Where it is not known yet how long the arms take, they come in the order of the
    design.

    Source: Graham 1969, "Bounds on multiprocessing timing anomalies", the longest first.
    Difference: only among the cells of a seed.

    Args:
        jobs: The cells.
        clock: In seconds.
    """

    def __init__(
        self, jobs: Iterable[TrialJob], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._jobs: dict[str, TrialJob] = {}
        seeds = defaultdict[int, list[TrialJob]](list)
        for job in jobs:
            unjudged = job.model_copy(update={"is_judged": False})
            self._jobs[job.spec.trial_key] = unjudged
            seeds[job.spec.seed].append(unjudged)
        self._seeds = deque(seeds.values())
        self._of_this_seed: list[TrialJob] = []
        self._clock = clock
        self._seconds: dict[str, float] = {}
        self._begun_at: dict[str, float] = {}  # of those that were returned and have not ended

    def more(self) -> list[TrialJob]:
        """Return the next cell, none where all have been returned."""
        if not self._of_this_seed:
            if not self._seeds:
                return []
            self._of_this_seed = self._seeds.popleft()
        job = self._of_this_seed.pop(self._place_of_next())
        self._begun_at[job.spec.trial_key] = self._clock()
        return [job]

    def judge(self, trial_key: str, result: EpochMetrics) -> bool:
        """Let every trial run to its end."""
        return False

    def why_stopped(self, trial_key: str) -> str:
        """Return that no trial is stopped."""
        return ""

    def let_go(self, trial_key: str) -> int:
        """Return that no trial waits."""
        return 0

    def ended(self, trial_key: str, outcome: Outcome) -> None:
        """Record how long a finished trial took, for those of its arm that follow."""
        self._begun_at.pop(trial_key, None)
        if outcome is Outcome.FINISHED:
            job = self._jobs[trial_key]
            with suppress(BadInput, OSError):
                final = CellFolder(Path(job.cells), trial_key).read_final()
                self._seconds |= {job.spec.arm: final.duration_seconds} if final else {}

    def _place_of_next(self) -> int:
        """Return the place, among what is left of this seed, of the cell that is to come next."""
        seconds = [self._expected_seconds(job) for job in self._of_this_seed]
        busy = [
            max(0.0, self._expected_seconds(self._jobs[key]) - (self._clock() - begun_at))
            for key, begun_at in self._begun_at.items()
        ]
        if not self._seeds and all(map(math.isfinite, seconds + busy)):
            return next_to_end_together(seconds, busy)
        return seconds.index(max(seconds))

    def _expected_seconds(self, job: TrialJob) -> float:
        return self._seconds.get(job.spec.arm, math.inf)
