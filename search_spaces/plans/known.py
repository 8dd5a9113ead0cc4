"""What is known of a sweep at a moment: the fold of its journal."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from search_spaces.plans.decisions import (
    Cell,
    CellEnded,
    CellOutcome,
    Choose,
    Continue,
    Done,
    Entry,
    EpochTold,
    Pause,
    Propose,
    Stop,
)


@dataclass
class KnownTrial:
    """What is known of one trial.

    Attributes:
        epochs: Epoch -> its metrics, none of the test split.
        ended: How it ended, None while it may go on.
        last: Metrics of its last epoch, once it has ended; empty where there is none.
        length: The last epoch that counts, once it has ended.
        judged: Epochs at which a verdict fell.
        pauses: Epochs at which it was to wait for one.
        stopped: The verdict that ended it, None where none did.
    """

    epochs: dict[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])
    ended: CellOutcome | None = None
    last: Mapping[str, Any] = field(default_factory=dict[str, Any])
    length: int = 0
    judged: set[int] = field(default_factory=set[int])
    pauses: set[int] = field(default_factory=set[int])
    stopped: Stop | None = None

    def take(self, entry: EpochTold | CellEnded | Stop | Pause | Continue) -> None:
        """Take one more entry about this trial; where it was stopped, it has ended."""
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

    def go_on(self) -> None:
        """Let it go on where it was stopped."""
        if self.stopped:
            self.stopped, self.ended, self.length = None, None, 0
            self.pauses.clear()

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return self.ended is None

    @property
    def waits_at(self) -> int:
        """The epoch at which it waits for a verdict, 0 where it does not."""
        return max(self.pauses - self.judged, default=0) if self.is_open else 0


class Known:
    """The fold of a sweep's journal: an entry more changes it, and the order of facts does not.

    Plans read it; only who keeps the journal adds to it.

    Args:
        keys: Trial key of each cell, by its place; one that is missing is made of the place.
        num_epochs: Of a full training, by arm, as far as they are known.

    Attributes:
        cells: What was proposed, by place (arm, seed), in order.
        chosen: The last choice, None before there is one.
        is_over: Whether the plan has said that no cells follow.
        stops: Where trials were stopped, by trial key.
        num_epochs: As given.
    """

    def __init__(
        self,
        keys: Mapping[tuple[str, int], str] | None = None,
        num_epochs: Mapping[str, int] | None = None,
    ) -> None:
        self.cells: dict[tuple[str, int], Cell] = {}
        self.chosen: Choose | None = None
        self.is_over = False
        self.stops: dict[str, Stop] = {}
        self.num_epochs = {} if num_epochs is None else num_epochs
        self._keys = {} if keys is None else keys
        self._trials: dict[str, KnownTrial] = {}

    def take(self, entry: Entry) -> None:
        """Take one more entry of the journal."""
        match entry:
            case Propose(cells):
                self.cells |= {cell.place: cell for cell in cells}
            case Choose():
                self.chosen = entry
            case Done():
                self.is_over = True
            case EpochTold() | CellEnded() | Stop() | Pause() | Continue():
                self.by_key(entry.trial_key).take(entry)
                if isinstance(entry, Stop):
                    self.stops[entry.trial_key] = entry
            case _:
                pass

    def by_key(self, trial_key: str) -> KnownTrial:
        """Return what is known of a trial by its key."""
        return self._trials.setdefault(trial_key, KnownTrial())

    def trial(self, arm: str, seed: int) -> KnownTrial:
        """Return what is known of the trial in a place."""
        return self.by_key(self.key_of((arm, seed)))

    def key_of(self, place: tuple[str, int]) -> str:
        """Return the trial key of a place."""
        return self._keys.get(place, f"{place[0]} {place[1]}")

    def trials(self, arm: str) -> list[KnownTrial]:
        """Return what is known of an arm's trials, in the order of its cells."""
        return [self.trial(*place) for place in self.cells if place[0] == arm]

    @property
    def waiting(self) -> dict[str, int]:
        """The trials that wait for a verdict, and the epoch at which each does."""
        return {key: trial.waits_at for key, trial in self._trials.items() if trial.waits_at}

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms so far, in the order in which they came."""
        return tuple(dict.fromkeys(arm for arm, _ in self.cells))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and (
            (self.cells, self.chosen, self.is_over, self._trials)
            == (other.cells, other.chosen, other.is_over, other._trials)
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def known_from(
    entries: Iterable[Entry], keys: Mapping[tuple[str, int], str] | None = None
) -> Known:
    """Return the fold of a whole journal."""
    known = Known(keys)
    for entry in entries:
        known.take(entry)
    return known
