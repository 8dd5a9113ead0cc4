"""Searches whose trainings are drawn: all that is decided is decided by the product's own code."""

import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from capsmodel import TrainingConfig
from capsmodel.models import CapsNet
from capsmodel.optimisers import Adam
from search_spaces import Search, Space, Sweep
from search_spaces.plans.decisions import (
    Cell,
    CellEnded,
    CellOutcome,
    Continue,
    Decision,
    EndSearch,
    EpochTold,
    Event,
    Pause,
    Propose,
    Select,
    SlotFree,
    Stop,
)
from search_spaces.plans.search import BASE
from sweeps.execution.plan.definition import LostDecisions
from sweeps.execution.search.decider import SearchDecider
from sweeps.execution.search.search_known import SearchKnown

Train = Callable[[Cell], Sequence[float]]
"""The validation error of a training after each of its epochs; one that is NaN has diverged."""

RATE, DECAY = "optimiser.learning_rate", "optimiser.weight_decay"
PLAIN = (
    Space.of(TrainingConfig)
    .varied({"optimiser": ("adam",), "loss": ("margin",)})
    .only(RATE, DECAY, "loss.positive_margin", "loss.down_weight")
)


@dataclass
class SearchRun:
    """A search from its first proposal to its choice.

    Attributes:
        plan: As declared.
        train: What a training comes to.
        num_epochs: Of a full training.
        slots: Trainings at once; each turn all of them train an epoch.
        told_as: What the search hears of a training that diverges.
        known: The fold of its journal.
        chosen: The arms that are to be confirmed, the best first.
        epochs: Trained in all, the base's apart.
        verdicts: Whether each proposal that was judged went on, in their order.
    """

    plan: Search
    train: Train
    num_epochs: int = 1
    slots: int = 1
    told_as: CellOutcome = "diverged"
    known: SearchKnown = field(init=False)
    chosen: tuple[str, ...] = ()
    epochs: int = 0
    verdicts: list[bool] = field(default_factory=list[bool])

    def __post_init__(self) -> None:
        self._sweep = Sweep(name="drawn", base=BASE_CONFIG, plan=self.plan)
        self._decider = SearchDecider(self.plan, self._sweep, LostDecisions())
        lengths = defaultdict[str, int](lambda: self.num_epochs)
        self.known = self._decider.nothing_known({}, lengths)
        self._waiting = deque[Cell]()
        self._going: dict[str, Iterator[tuple[int, float]]] = {}
        self._paused: dict[str, Iterator[tuple[int, float]]] = {}
        self._cells: dict[str, Cell] = {}

    def to_its_end(self) -> "SearchRun":
        """Train until nothing is left."""
        self._take(Propose(self.plan.initial_cells(self._sweep)))
        while self._fill():
            for key in list(self._going):
                if key in self._going:
                    self._train_epoch(key)
        return self

    def number(self, cell: Cell) -> int:
        """Return the number of a proposal, -1 of the base."""
        return -1 if cell.arm == BASE else self.known.names.index(cell.arm)

    def proposals(self) -> Iterator[list[str]]:
        """Yield the trial keys of each proposal's seeds."""
        for name in self.known.names:
            yield [self.known.key_of(place) for place in self.known.cells if place[0] == name]

    def _fill(self) -> bool:
        """Start trainings while there is room; return whether any goes."""
        while len(self._going) < self.slots:
            if self._waiting:
                self._start(self._waiting.popleft())
            elif not any(
                isinstance(decision, Propose | Continue | Stop | EndSearch)
                for decision in self._decide(SlotFree())
            ):
                break
        return bool(self._going)

    def _start(self, cell: Cell) -> None:
        key = self.known.key_of(cell.place)
        if key in self._paused:
            self._going[key] = self._paused.pop(key)
        elif self.known.by_key(key).is_open:
            self._cells[key] = cell
            self._going[key] = enumerate(self.train(cell), start=1)

    def _train_epoch(self, key: str) -> None:
        epoch, error = next(self._going[key])
        self.epochs += not key.startswith(BASE)
        metrics = {"train_loss": error, "validation_loss": error, "validation_error": error}
        self._receive(EpochTold(key, epoch, metrics))
        if math.isnan(error):
            self._receive(CellEnded(key, self.told_as, epoch, metrics))
        elif epoch == self.num_epochs and key in self._going:
            self._receive(CellEnded(key, "finished", epoch, metrics))

    def _receive(self, event: EpochTold | CellEnded) -> None:
        self.known.take(event)
        if isinstance(event, CellEnded):
            del self._going[event.trial_key]
        self._decide(event)

    def _decide(self, event: Event) -> Sequence[Decision]:
        decisions = self._decider.decide(self._sweep, self.known, event)
        if isinstance(decisions[0] if decisions else None, Stop | Continue):
            self.verdicts.append(isinstance(decisions[0], Continue))
        for decision in decisions:
            self._take(decision)
        return decisions

    def _take(self, decision: Decision) -> None:
        self.known.take(decision)
        match decision:
            case Propose(cells):
                self._waiting.extend(cells)
            case Select(arms):
                self.chosen = arms
            case Pause(trial_key):
                self._paused[trial_key] = self._going.pop(trial_key)
            case Continue(trial_key) if trial_key in self._paused:
                self._waiting.append(self._cells[trial_key])
            case Stop(trial_key):
                self._going.pop(trial_key, None)
            case _:
                pass


def _base() -> TrainingConfig:
    """Return a base whose network can be built, though it is never trained."""
    return TrainingConfig(
        model=CapsNet(conv_kernel=3, primary_kernel=3),
        optimiser=Adam(learning_rate=3e-4, weight_decay=1e-6),
    )


BASE_CONFIG = _base()
