"""Trainings on simulated GPUs: what they hold of memory, who runs out, and when all is done."""

import heapq
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.engine.cards import Card
from sweeps.execution.engine.cell_queue import CellQueue
from sweeps.execution.engine.engine import EpochEnded, Job, Next, TrialEnded, TrialStarted
from sweeps.execution.engine.packing import CONTEXT_BYTES, MARGIN
from tests.sweeps.execution.examples import epoch, final

GIB = 2**30
_RUNS_OUT_AFTER = 0.25  # of an epoch, the new process included


def card(name: str, total: float, free: float | None = None) -> Card:
    """Return a card of so many GiB, by default with nothing on it but what a driver takes."""
    free = 0.97 * total if free is None else free
    return Card(
        number=0,
        visible_as=name,
        name=name,
        total_bytes=int(total * GIB),
        free_bytes=int(free * GIB),
    )


@dataclass(frozen=True)
class Kind:
    """A shape of configuration, and what its trainings are like.

    Attributes:
        channels: Of the network, by which it differs from others.
        peak: Bytes that the allocator holds in the first epoch.
        later_peak: The same from the second epoch on.
        seconds: Of an epoch.
        num_epochs: Of a training.
    """

    channels: int
    peak: int
    later_peak: int
    seconds: float
    num_epochs: int

    @property
    def num_bytes(self) -> int:
        """What a packing gives each that knows all."""
        return int(MARGIN * self.later_peak) + CONTEXT_BYTES

    @property
    def duration(self) -> float:
        """Of a training that nothing interrupts."""
        return self.seconds * self.num_epochs


@dataclass
class _Process:
    job: Job
    kind: Kind
    outbox_size: int
    epoch: int
    held: int = 0
    is_failing: bool = False

    @property
    def seconds(self) -> float:
        """Until its next epoch ends, or it runs out of memory."""
        return self.kind.seconds * (_RUNS_OUT_AFTER if self.is_failing else 1)


@dataclass
class SimulatedCards:
    """Runs the jobs of a queue; no two things happen at the same moment.

    Attributes:
        cells: Folder of all cells.
        cards: The GPUs; their `free_bytes` exclude the memory of other programs.
        kinds: By the channels of the network.
        num_concurrent: Jobs at once at most.
    """

    cells: Path
    cards: Sequence[Card]
    kinds: dict[int, Kind]
    num_concurrent: int
    now: float = 0.0
    ran_out: Counter[str] = field(default_factory=Counter[str])
    epochs: dict[str, int] = field(default_factory=dict[str, int])

    def run(self, queue: CellQueue) -> None:
        """Run all jobs."""
        self.queue, self.processes = queue, dict[str, _Process]()
        order, events = count(), list[tuple[float, int, str]]()
        job: Job | Next = Next.WAIT
        while True:
            while len(self.processes) < self.num_concurrent:
                job = queue.next()
                if isinstance(job, Next):
                    break
                process = self._begin(job)
                moment = self.now + process.seconds
                heapq.heappush(events, (moment, next(order), job.trial_keys[0]))
            if not events:
                assert job is Next.DONE
                return
            self.now, _, key = heapq.heappop(events)
            if self._ends_epoch(key):
                heapq.heappush(events, (self.now + self.processes[key].seconds, next(order), key))

    def _begin(self, job: Job) -> _Process:
        (key,), (trial,) = job.trial_keys, job.trials
        folder = CellFolder(self.cells, key)
        folder.path.mkdir(parents=True, exist_ok=True)
        kind = self.kinds[trial.spec.config["model"]["conv_channels"]]
        process = _Process(job, kind, folder.outbox_size(), self.epochs.get(key, 0))
        self.processes[key] = process
        self._allocate(process)
        self.queue.tell(TrialStarted(trial_key=key))
        return process

    def _on(self, number: int) -> list[_Process]:
        return [
            process
            for process in self.processes.values()
            if process.job.share.card and process.job.share.card.number == number
        ]

    def _ends_epoch(self, key: str) -> bool:
        """End an epoch of a training and begin the next; return whether it goes on."""
        process = self.processes[key]
        if process.is_failing:
            self._run_out(key)
            return False
        folder = CellFolder(self.cells, key)
        folder.stats.note_peak_gpu(process.held)
        process.epoch += 1
        self.epochs[key] = process.epoch
        self.queue.tell(EpochEnded(trial_key=key, result=epoch(process.epoch)))
        if process.epoch < process.kind.num_epochs:
            self._allocate(process)
            return True
        with folder.lease(0):
            folder.write_final(final(head=process.job.trials[0].spec))
        self._end(key)
        return False

    def _allocate(self, process: _Process) -> None:
        """Take what the next epoch needs, if its share and the card allow."""
        kind, card = process.kind, process.job.share.card
        assert card
        wants = kind.peak if process.epoch == 0 else kind.later_peak
        others = sum(
            other.held + CONTEXT_BYTES for other in self._on(card.number) if other is not process
        )
        has = self.cards[card.number]
        is_too_much = wants + CONTEXT_BYTES + others > has.free_bytes
        process.is_failing = is_too_much or wants > card.memory_fraction * has.total_bytes
        process.held = process.held if process.is_failing else max(process.held, wants)

    def _run_out(self, key: str) -> None:
        self.ran_out[key] += 1
        folder = CellFolder(self.cells, key)
        with folder.lease(0) as fence:
            spec = self.processes[key].job.trials[0].spec
            kind = {"is_out_of_memory": True, "is_out_of_gpu_memory": True}
            folder.append_failure(spec, fence, "OutOfMemoryError: CUDA out of memory", **kind)
        self._end(key)

    def _end(self, key: str) -> None:
        del self.processes[key]
        self.queue.tell(TrialEnded(trial_key=key))


def seconds_of_all_known(
    kinds: Sequence[Kind], cards: Sequence[Card], num_concurrent: int
) -> float:
    """Return how long trainings take in their order, where what each needs is known beforehand.

    Each goes, as soon as there is room, where it leaves least; none runs out of memory.
    """
    free = [card.free_bytes for card in cards]
    ends, waiting, now = list[tuple[float, int, int]](), list(kinds), 0.0
    while waiting or ends:
        unplaced = list[Kind]()
        for kind in waiting:
            fits = [place for place, size in enumerate(free) if size >= kind.num_bytes]
            if not fits or len(ends) >= num_concurrent:
                unplaced.append(kind)
                continue
            place = min(fits, key=lambda place: free[place])
            free[place] -= kind.num_bytes
            heapq.heappush(ends, (now + kind.duration, place, kind.num_bytes))
        waiting = unplaced
        now, place, size = heapq.heappop(ends)
        free[place] += size
    return now


def best_seconds(
    kinds: Sequence[Kind], cards: Sequence[Card], num_concurrent: int, tries: int = 300
) -> float:
    """Return the shortest such time that is found by other orders: what nobody knows beforehand.

    The longest first, the largest first, and random orders.
    """
    chance = random.Random(0)
    keys: tuple[Callable[[Kind], float], ...] = (
        lambda kind: kind.duration,
        lambda kind: kind.num_bytes,
        lambda kind: kind.num_bytes * kind.duration,
    )
    orders = [sorted(kinds, key=key, reverse=True) for key in keys]
    orders += [chance.sample(list(kinds), len(kinds)) for _ in range(tries)]
    return min(seconds_of_all_known(order, cards, num_concurrent) for order in orders)
