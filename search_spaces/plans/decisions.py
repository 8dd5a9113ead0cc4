"""What a plan hears of while its sweep runs, and what it may decide: plain values.

Events: an epoch was told of, a cell has ended, there is room for another trial. Decisions are noted
in the sweep's journal before they take effect, and are never made a second time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

CellOutcome = Literal["finished", "diverged", "failed", "pruned"]
"""How a trial ended, in the words of its record."""


@dataclass(frozen=True)
class Cell:
    """A place in a sweep that a trial fills.

    Attributes:
        arm: What the tables call the configuration.
        settings: What sets the arm apart from the sweep's base, path -> value; of a search the
            point of its space, dimension -> value. All cells of one arm have the same.
        seed: Of the training.
    """

    arm: str
    settings: Mapping[str, Any]
    seed: int

    @property
    def place(self) -> tuple[str, int]:
        """Arm and seed, which no two cells of a sweep share."""
        return self.arm, self.seed


@dataclass(frozen=True)
class SlotFree:
    """There is room for another trial, and no cell to hand out."""


@dataclass(frozen=True)
class EpochTold:
    """A trial has told of an epoch.

    Attributes:
        epoch: Counted from 1.
        metrics: Name -> value, none of them of the test split.
    """

    trial_key: str
    epoch: int
    metrics: Mapping[str, Any]


@dataclass(frozen=True)
class CellEnded:
    """A trial has ended.

    Attributes:
        epoch: The last one.
        metrics: Of that epoch; empty where it told of none.
    """

    trial_key: str
    outcome: CellOutcome
    epoch: int = 0
    metrics: Mapping[str, Any] = field(default_factory=dict[str, Any])


Event = SlotFree | EpochTold | CellEnded


@dataclass(frozen=True)
class Propose:
    """These cells are trained next."""

    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Draw(Propose):
    """Random points that a search is held against are trained next, to their full length.

    Attributes:
        random_seed: What they are drawn by.
    """

    random_seed: int


@dataclass(frozen=True)
class Stop:
    """A trial is not trained beyond an epoch.

    Attributes:
        value: What it was judged by.
    """

    trial_key: str
    epoch: int
    value: float


@dataclass(frozen=True)
class Pause:
    """A trial waits at an epoch, with its checkpoint, until it is continued there or stopped."""

    trial_key: str
    epoch: int


@dataclass(frozen=True)
class Continue:
    """A trial was judged at an epoch and goes on."""

    trial_key: str
    epoch: int


@dataclass(frozen=True)
class WarmStart:
    """A search proposes points of another sweep first.

    Attributes:
        sweep: Which.
        points: Of its space, dimension -> value, the best first.
        num_fitting: How many of that sweep are points of its space at all.
    """

    sweep: str
    points: tuple[Mapping[str, Any], ...]
    num_fitting: int


@dataclass(frozen=True)
class Enough:
    """A search proposes no more, before it has made all its proposals.

    Attributes:
        reason: Why.
        until: The ends that it had; with others it may go on.
        num_proposals: That it had made.
    """

    reason: str
    until: str
    num_proposals: int


@dataclass(frozen=True)
class Choose:
    """These arms are what the sweep was to find, the best first.

    Attributes:
        reference: The arm that they are held against, None where there is none.
        question: What they answer, so that a choice is not taken for the answer to another.
        random: The best of random points, which they are held against as well; None where there is
            none.
    """

    arms: tuple[str, ...]
    reference: str | None = None
    question: str = ""
    random: str | None = None


@dataclass(frozen=True)
class Wait:
    """Trials that run have to end first."""


@dataclass(frozen=True)
class Done:
    """There is nothing more to propose."""


WAIT = Wait()
DONE = Done()

Decision = Propose | Stop | Pause | Continue | WarmStart | Enough | Choose | Wait | Done
Entry = Decision | EpochTold | CellEnded
"""What the journal of a sweep holds: what was decided, and what became of it."""
