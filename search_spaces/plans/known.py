"""What is known of a sweep so far: the fold of its decisions and results."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from search_spaces.looks import Looked
from search_spaces.plans.decisions import (
    Cell,
    CellEnded,
    CellOutcome,
    Continue,
    Done,
    Entry,
    EpochTold,
    Pause,
    Propose,
    Select,
    Stop,
)


@dataclass
class KnownTrial:
    """What is known of one trial.

    Attributes:
        epochs: Epoch -> metrics, without metrics of the test split.
        ended: How it ended, None while it is open.
        last: Metrics of its last epoch once it has ended; empty if there are none.
        length: The last epoch that counts, once it has ended.
        judged: Epochs at which it was judged.
        pauses: Epochs at which it was paused.
        stopped: The decision that stopped it, if any.
    """

    epochs: dict[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])
    ended: CellOutcome | None = None
    last: Mapping[str, Any] = field(default_factory=dict[str, Any])
    length: int = 0
    judged: set[int] = field(default_factory=set[int])
    pauses: set[int] = field(default_factory=set[int])
    stopped: Stop | None = None

    def take(self, entry: EpochTold | CellEnded | Stop | Pause | Continue) -> None:
        """Apply one more entry about this trial; a stopped trial has ended."""
        match entry:
            case EpochTold():
                self.epochs[entry.epoch] = entry.metrics
            case CellEnded() if self.stopped is None:
                self.ended, self.last, self.length = entry.outcome, entry.metrics, entry.epoch
            case Stop():
                self.judged.add(entry.epoch)
                self.stopped, self.ended, self.last = entry, "pruned", {}
                self.length = entry.epoch
            case Pause():
                self.pauses.add(entry.epoch)
            case Continue():
                self.judged.add(entry.epoch)
            case _:
                pass

    def at(self, epoch: int) -> Mapping[str, Any] | None:
        """Return the metrics of the epoch that is tested if it ends with this one, None if unknown.

        That is another one where a trial keeps the weights of its best epoch.
        """
        metrics = self.epochs.get(epoch)
        return self.epochs.get(metrics.get("best_epoch") or epoch) if metrics else None

    def go_on(self) -> None:
        """Reopen a trial that was stopped."""
        if self.stopped:
            self.stopped, self.ended, self.length = None, None, 0
            self.pauses.clear()

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return self.ended is None

    @property
    def waits_at(self) -> int:
        """The epoch at which it is paused, 0 if it is not."""
        return max(self.pauses - self.judged, default=0) if self.is_open else 0


class Known:
    """What is known of a sweep. The order in which results arrive does not matter.

    Plans read it; only the owner of the log adds to it.

    Args:
        keys: (arm, seed) of a cell -> its trial key; a missing key is made of arm and seed.
        num_epochs: Arm -> epochs of a full training, as far as known.

    Attributes:
        cells: (arm, seed) -> the proposed cell, in order.
        chosen: The last selection, None if there is none yet.
        is_over: Whether the plan has returned `DONE`.
        stops: Trial key -> the decision that stopped the trial.
        num_epochs: As it was given.
        looked: The looks so far.
    """

    def __init__(
        self,
        keys: Mapping[tuple[str, int], str] | None = None,
        num_epochs: Mapping[str, int] | None = None,
    ) -> None:
        self.cells: dict[tuple[str, int], Cell] = {}
        self.chosen: Select | None = None
        self.is_over = False
        self.stops: dict[str, Stop] = {}
        self.looked: list[Looked] = []
        self.num_epochs = {} if num_epochs is None else num_epochs
        self._keys = {} if keys is None else keys
        self._trials: dict[str, KnownTrial] = {}

    def take(self, entry: Entry) -> None:
        """Apply one more decision or result."""
        match entry:
            case Propose(cells):
                self.cells |= {cell.place: cell for cell in cells}
            case Select():
                self.chosen = entry
            case Done():
                self.is_over = True
            case Looked():
                self.looked.append(entry)
            case EpochTold() | CellEnded() | Stop() | Pause() | Continue():
                self.by_key(entry.trial_key).take(entry)
                if isinstance(entry, Stop):
                    self.stops[entry.trial_key] = entry
            case _:
                pass

    def by_key(self, trial_key: str) -> KnownTrial:
        """Return the known trial with a key."""
        return self._trials.setdefault(trial_key, KnownTrial())

    def trial(self, arm: str, seed: int) -> KnownTrial:
        """Return the known trial of an arm with a seed."""
        return self.by_key(self.key_of((arm, seed)))

    def key_of(self, place: tuple[str, int]) -> str:
        """Return the trial key of a cell's (arm, seed)."""
        return self._keys.get(place, f"{place[0]} {place[1]}")

    def trials(self, arm: str) -> list[KnownTrial]:
        """Return an arm's known trials, in the order of its cells."""
        return [self.trial(*place) for place in self.cells if place[0] == arm]

    @property
    def waiting(self) -> dict[str, int]:
        """Trial key -> the epoch at which the trial is paused, for all paused trials."""
        return {key: trial.waits_at for key, trial in self._trials.items() if trial.waits_at}

    @property
    def arms(self) -> tuple[str, ...]:
        """The proposed arms, in order."""
        return tuple(dict.fromkeys(arm for arm, _ in self.cells))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and (
            (self.cells, self.chosen, self.is_over, self.looked, self._trials)
            == (other.cells, other.chosen, other.is_over, other.looked, other._trials)
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def known_after(
    entries: Iterable[Entry], keys: Mapping[tuple[str, int], str] | None = None
) -> Known:
    """Return the known trials after some decisions and results."""
    known = Known(keys)
    for entry in entries:
        known.take(entry)
    return known
