"""The events that a plan receives and the decisions that it returns, as plain values.

Decisions are written to the sweep's log before they take effect and are never computed again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from capsmodel.settings.plain import plain
from search_spaces.looks import Look, Looked

CellOutcome = Literal["finished", "diverged", "failed", "pruned"]
"""How a trial ended, as its record says."""


@dataclass(frozen=True)
class Cell:
    """A place in a sweep that a trial fills.

    Attributes:
        arm: Name of the configuration in tables.
        settings: The arm's changes to the sweep's base, path -> value; in a search the point of
            the space, dimension -> value. All cells of an arm have the same settings.
        seed: Seed of the training.
    """

    arm: str
    settings: Mapping[str, Any]
    seed: int

    def __post_init__(self) -> None:
        """Take NumPy's numbers as plain ones, as they are written to the sweep's log."""
        object.__setattr__(self, "settings", plain(self.settings))
        object.__setattr__(self, "seed", plain(self.seed))

    @property
    def place(self) -> tuple[str, int]:
        """Arm and seed, which identify the cell in its sweep."""
        return self.arm, self.seed


@dataclass(frozen=True)
class SlotFree:
    """Another trial could run, and no cell is pending."""


@dataclass(frozen=True)
class EpochTold:
    """A trial has finished an epoch.

    Attributes:
        epoch: Number of the epoch, from 1.
        metrics: Name -> value, without metrics of the test split.
    """

    trial_key: str
    epoch: int
    metrics: Mapping[str, Any]


@dataclass(frozen=True)
class CellEnded:
    """A trial has ended.

    Attributes:
        epoch: The last epoch, 0 if none was finished.
        metrics: Metrics of that epoch.
    """

    trial_key: str
    outcome: CellOutcome
    epoch: int = 0
    metrics: Mapping[str, Any] = field(default_factory=dict[str, Any])


Event = SlotFree | EpochTold | CellEnded


@dataclass(frozen=True)
class Propose:
    """Train these cells next."""

    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class ProposeRandom(Propose):
    """Train random points next, in full; the search is compared with the best of them.

    Attributes:
        random_seed: The seed by which they are drawn.
    """

    random_seed: int


@dataclass(frozen=True)
class Stop:
    """Prune a trial at an epoch.

    Attributes:
        value: The score that it was judged by.
    """

    trial_key: str
    epoch: int
    value: float


@dataclass(frozen=True)
class Pause:
    """Pause a trial at an epoch, with its checkpoint, until it is continued or stopped."""

    trial_key: str
    epoch: int


@dataclass(frozen=True)
class Continue:
    """Let a trial continue after it was judged at an epoch."""

    trial_key: str
    epoch: int


@dataclass(frozen=True)
class Measured:
    """Note what a trial has measured of what the search limits.

    It is logged before the end or the verdict that it belongs to, and never measured again.

    Attributes:
        epoch: The epoch that it had come to.
        values: Name of a measure -> value; what was not measured is missing.
    """

    trial_key: str
    epoch: int
    values: Mapping[str, float]


@dataclass(frozen=True)
class WarmStart:
    """Propose points of another sweep first.

    Attributes:
        sweep: Name of the other sweep.
        points: Points of this search's space, dimension -> value, the best first.
        num_fitting: Number of the other sweep's arms that are points of this space.
    """

    sweep: str
    points: tuple[Mapping[str, Any], ...]
    num_fitting: int


@dataclass(frozen=True)
class EndSearch:
    """End a search before all its proposals are made.

    Attributes:
        reason: Why it ends.
        until: The declared ends, as text; with other ends the search may continue.
        num_proposals: Number of proposals made so far.
    """

    reason: str
    until: str
    num_proposals: int


@dataclass(frozen=True)
class Select:
    """Select arms as the result of a sweep, the best first.

    Attributes:
        reference: The arm that they are compared with, if any.
        question: The question that the selection answers, so that it answers no other one.
        random: The best of random points, with which they are also compared, if any.
    """

    arms: tuple[str, ...]
    reference: str | None = None
    question: str = ""
    random: str | None = None


@dataclass(frozen=True)
class Unselect:
    """Take back the last selection, as trials that it rests on are open again."""


@dataclass(frozen=True)
class LogCut:
    """Note that the log has lost its last decisions, as there are trials that it does not name.

    Attributes:
        num_proposals: Number of proposals that the log still has.
    """

    num_proposals: int


@dataclass(frozen=True)
class Wait:
    """Wait until a running trial ends."""


@dataclass(frozen=True)
class Done:
    """Propose nothing more."""


WAIT = Wait()
DONE = Done()

Decision = (
    Propose
    | Stop
    | Pause
    | Continue
    | Measured
    | WarmStart
    | EndSearch
    | Select
    | Unselect
    | LogCut
    | Look
    | Looked
    | Wait
    | Done
)
Entry = Decision | EpochTold | CellEnded
"""What changes the state of a sweep: a decision, or a result."""
