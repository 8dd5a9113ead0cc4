"""The progress of a launch, as a state that all views show."""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from statistics import fmean

from sweeps.execution.survey.surveyed_cells import CellState, SurveyedCell, epochs_taken_over
from sweeps.execution.sweep_log import DISPATCHED, SweepLog
from sweeps.records.manifest import ManifestCell
from sweeps.records.trial_record import Json, Outcome

_MOST_ERRORS = 256
_FEWEST_EPOCHS = 5  # before a remaining time is shown


@dataclass
class RunningTrial:
    """A dispatched trial. The validation error is a fraction, None before the first epoch.

    Attributes:
        errors: The latest validation errors that this launch has seen.
        is_pending: Whether it was dispatched and waits for a process.
        num_evaluated: How many of its evaluations are made; None while it trains or is tested.
        num_evaluations: How many its process makes.
    """

    cell: ManifestCell
    epoch: int
    num_epochs: int
    validation_error: float | None = None
    errors: tuple[float, ...] = ()
    is_pending: bool = True
    num_evaluated: int | None = None
    num_evaluations: int = 0

    @property
    def is_evaluating(self) -> bool:
        """Whether its training has ended, and its process makes its evaluations."""
        return self.num_evaluated is not None


@dataclass(frozen=True)
class BestArm:
    """The best arm so far.

    Attributes:
        error: Mean of its validation errors, a fraction.
        num_finished: Seeds that have finished.
        num_planned: Seeds that it will have.
    """

    error: float
    arm: str
    num_finished: int
    num_planned: int


@dataclass
class Board:
    """The state of a launch; the engine and the plan report every event to it.

    Attributes:
        num_expected: Cells at the end of the launch, if more are still to come.
        share_to_come: Share of a full training that one of those takes on average.
        num_filled: Cells that were filled before the launch.
        is_stopping: Whether the launch was interrupted.
        running: The dispatched trials by their key, also those that are still pending.
        num_pruned: Trials that the scheduler stopped.
        waiting: Trial key -> the epoch at which it waits for its promotion.
        failures: (arm, seed, reason) of each trial that failed.
        fresh_seeds: Seeds that have no part in choosing; empty where nothing is chosen.
        changes: Arm -> its settings (path -> value), for arms whose name does not say them.
        evaluations: Keys of the evaluations that each finished trial gets.
        unevaluated: Trial key -> keys of the evaluations that are still to be made.
        num_concurrent: Jobs at once, at most.
        doing: What happens now instead of training, "" while trials run.
        doing_since: When that began, on the clock.
        said: Sentences for the user.
    """

    cells: list[SurveyedCell]
    epochs: dict[str, int]
    log: SweepLog
    clock: Callable[[], float] = time.monotonic
    num_expected: int = 0
    mean_share: float = 1.0
    is_stopping: bool = False
    num_done: int = 0
    num_diverged: int = 0
    num_pruned: int = 0
    num_restarts: int = 0
    running: dict[str, RunningTrial] = field(default_factory=dict[str, RunningTrial])
    waiting: dict[str, int] = field(default_factory=dict[str, int])
    failures: list[tuple[str, int, str]] = field(default_factory=list[tuple[str, int, str]])
    fresh_seeds: frozenset[int] = frozenset()
    changes: dict[str, Json] = field(default_factory=dict[str, Json])
    evaluations: tuple[str, ...] = ()
    unevaluated: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    num_concurrent: int = 1
    doing: str = ""
    doing_since: float = 0.0
    said: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._places_seen = {(cell.cell.arm, cell.cell.seed) for cell in self.cells}
        self._places = {cell.cell.trial_key: cell for cell in self.cells}
        self.num_filled = sum(cell.is_filled for cell in self.cells)
        self.num_pruned = sum(cell.cell.stopped is not None for cell in self.cells)
        self.waiting |= {
            cell.cell.trial_key: cell.epochs
            for cell in self.cells
            if cell.state is CellState.WAITING
        }
        self._taken_over = epochs_taken_over(self.cells)
        self._started: set[str] = set()
        self._started_at = self.clock()
        self._last_epoch_at: float | None = None
        self._epochs_timed = 0
        self._epoch_seconds = 0.0
        self._seconds_since_epoch = 0.0
        self._evaluation_seconds: dict[str, list[float]] = {}
        self._errors = {
            (cell.cell.arm, cell.cell.seed): cell.validation_error
            for cell in self.cells
            if cell.validation_error is not None
        }
        self._ended = {(cell.cell.arm, cell.cell.seed) for cell in self.cells if cell.is_filled}
        self._untrained = {
            cell.cell.trial_key: max(0, self.epochs[cell.cell.arm] - cell.epochs)
            for cell in empty_cells(self.cells)
            if cell.state is not CellState.WAITING
        }
        for cell in empty_cells(self.cells):
            self.unevaluated[cell.cell.trial_key] = {*self.evaluations}

    def add(self, cells: Iterable[SurveyedCell], epochs: dict[str, int]) -> None:
        """Add cells that a search has proposed or has chosen to confirm."""
        with self._lock:
            self.epochs |= epochs
            for cell in cells:
                if (cell.cell.arm, cell.cell.seed) in self._places_seen:
                    continue
                self._places_seen.add((cell.cell.arm, cell.cell.seed))
                self.cells.append(cell)
                self._places.setdefault(cell.cell.trial_key, cell)
                self.num_filled += cell.is_filled
                if cell.validation_error is not None:
                    self._errors[cell.cell.arm, cell.cell.seed] = cell.validation_error
                if cell.is_filled:
                    self._ended.add((cell.cell.arm, cell.cell.seed))
                else:
                    epochs_left = max(0, self.epochs[cell.cell.arm] - cell.epochs)
                    self._untrained.setdefault(cell.cell.trial_key, epochs_left)
                    self.unevaluated.setdefault(cell.cell.trial_key, {*self.evaluations})

    def dispatched(self, trial_key: str) -> None:
        """A trial was dispatched, and waits for a process."""
        planned = self._places[trial_key]
        num_epochs = self.epochs[planned.cell.arm]
        with self._lock:
            epoch = self.waiting.pop(trial_key, planned.epochs)
            self._started.add(trial_key)
            self.running[trial_key] = RunningTrial(planned.cell, epoch, num_epochs)
        self.log.note(trial_key, DISPATCHED)

    def started(self, trial_key: str) -> None:
        """A process has begun with a trial."""
        with self._lock:
            if trial := self.running.get(trial_key):
                trial.is_pending = False
        self.log.note(trial_key, "started")

    def progressed(self, trial_key: str, epoch: int, validation_error: float) -> None:
        """A trial finished an epoch."""
        with self._lock:
            if epoch > self._taken_over.get(trial_key, 0):
                self._time_epoch()
            if trial := self.running.get(trial_key):
                trial.is_pending = False
                trial.epoch, trial.validation_error = epoch, validation_error
                trial.errors = (*trial.errors[1 - _MOST_ERRORS :], validation_error)
                self._untrained[trial_key] = trial.num_epochs - epoch

    def evaluating(self, trial_key: str, num_evaluated: int, num_evaluations: int) -> None:
        """A trial was trained, and its process has made some of its evaluations."""
        with self._lock:
            if trial := self.running.get(trial_key):
                trial.num_evaluated, trial.num_evaluations = num_evaluated, num_evaluations
                self._untrained[trial_key] = 0

    def evaluated(self, trial_key: str, seconds: Mapping[str, float]) -> None:
        """A trial has evaluations: by their keys the seconds that each took.

        Those that are known already do not count twice.
        """
        with self._lock:
            new = self.unevaluated.get(trial_key, set[str]()) & seconds.keys()
            others = [key for key, trial in self.running.items() if not trial.is_pending]
            num_running = len({trial_key, *others})
            for key in new:
                self._evaluation_seconds.setdefault(key, []).append(seconds[key])
                self._seconds_since_epoch += seconds[key] / num_running
                self.unevaluated[trial_key].discard(key)

    def restarted(self, trial_key: str, why: str) -> None:
        """A trial will resume from its checkpoint, for example after its process was killed."""
        with self._lock:
            self.num_restarts += 1
            self.running.pop(trial_key, None)
            if not self.running:
                self._last_epoch_at = None  # the pace is that of training, not of the retry
        self.log.note(trial_key, "restarted", why)

    def paused(self, trial_key: str, epoch: int) -> None:
        """A trial gave up its process; it waits at an epoch, or is resumed soon if that is 0."""
        with self._lock:
            self.running.pop(trial_key, None)
            if epoch:
                self._untrained.pop(trial_key, None)
                self.waiting[trial_key] = epoch
        self.log.note(trial_key, "paused", f"at epoch {epoch}" * bool(epoch))

    def pruned(self, trial_key: str) -> None:
        """A waiting trial was pruned; a running one is reported by `ended`."""
        with self._lock:
            self.unevaluated.pop(trial_key, None)
            if self.waiting.pop(trial_key, 0):
                self.num_done += 1
                self.num_pruned += 1

    def ended(self, trial_key: str, outcome: Outcome, reason: str) -> None:
        """A trial was filled, or failed."""
        cell = self._places[trial_key].cell
        with self._lock:
            trial = self.running.pop(trial_key, None)
            self._untrained.pop(trial_key, None)
            self.waiting.pop(trial_key, None)
            self._ended.add((cell.arm, cell.seed))
            if outcome is not Outcome.FINISHED:
                self.unevaluated.pop(trial_key, None)
            if outcome is Outcome.FAILED:
                self.failures.append((cell.arm, cell.seed, reason))
            else:
                self.num_done += 1
                self.num_diverged += outcome is Outcome.DIVERGED
                self.num_pruned += outcome is Outcome.PRUNED
            if outcome is Outcome.FINISHED and trial and trial.validation_error is not None:
                self._errors[cell.arm, cell.seed] = trial.validation_error
        self.log.note(trial_key, outcome.value, reason)

    def say_now(self, doing: str) -> None:
        """Show what happens now instead of training; "" ends that."""
        self.doing, self.doing_since = doing, self.clock()

    def say(self, sentence: str) -> None:
        """Add a sentence about the launch as a whole."""
        with self._lock:
            self.said.append(sentence)

    def snapshot(self) -> list[RunningTrial]:
        """Return the dispatched trials, oldest first, and those that are pending last."""
        with self._lock:
            trials = sorted(self.running.values(), key=lambda trial: trial.is_pending)
            return [RunningTrial(**vars(trial)) for trial in trials]

    def running_keys(self) -> list[str]:
        """Return the trial keys of the dispatched trials."""
        with self._lock:
            return list(self.running)

    @property
    def started_keys(self) -> frozenset[str]:
        """Trial keys of all trials that were dispatched."""
        return frozenset(self._started)

    @property
    def has_started(self) -> bool:
        """Whether any trial was dispatched."""
        return bool(self.running or self.num_done or self.failures or self.num_restarts)

    @property
    def num_cells(self) -> int:
        """All cells of the sweep."""
        return max(len(self.cells), self.num_expected)

    @property
    def elapsed_seconds(self) -> float:
        """Seconds since the launch began."""
        return self.clock() - self._started_at

    @property
    def share_done(self) -> float:
        """Share of the sweep that is done; running trials count by their epochs."""
        running = sum(trial.epoch / max(1, trial.num_epochs) for trial in self.snapshot())
        return (self.num_filled + self.num_done + running) / max(1, self.num_cells)

    @property
    def best(self) -> BestArm | None:
        """The arm with the lowest mean validation error, None until one can be judged.

        As in `capsweep best`: once all trials on fresh seeds have ended, they alone count.
        """
        with self._lock:
            places = [(cell.cell.arm, cell.cell.seed) for cell in self.cells]
            fresh = [place for place in places if place[1] in self.fresh_seeds]
            other = [place for place in places if place[1] not in self.fresh_seeds]
            errors = dict(self._errors)
            is_confirmed = bool(fresh) and self._ended.issuperset(fresh)
        return (best_arm(fresh, errors) if is_confirmed else None) or best_arm(other, errors)

    def _time_epoch(self) -> None:
        """Count the time since the last epoch, except for the first, which waits for processes.

        The share of it in which evaluations took the place of trainings is left out.
        """
        now = self.clock()
        if self._last_epoch_at is not None:
            self._epoch_seconds += now - self._last_epoch_at - self._seconds_since_epoch
            self._epochs_timed += 1
        self._last_epoch_at, self._seconds_since_epoch = now, 0.0

    def seconds_an_epoch(self) -> float | None:
        """Return the mean seconds of an epoch, None until a few have ended.

        The first epoch does not count, nor one after a retry: they waited for processes to start.
        """
        if self._epochs_timed < _FEWEST_EPOCHS - 1:
            return None
        return max(0.0, self._epoch_seconds / self._epochs_timed)

    def remaining_seconds(self) -> float | None:
        """Estimate the time left, None until a few epochs have ended.

        It is that of training alone while `evaluation_seconds` is not known.
        """
        mean = sum(self.epochs.values()) / max(1, len(self.epochs))
        to_come = mean * self.mean_share * (self.num_cells - len(self.cells))
        epochs = sum(self._untrained.values()) + to_come
        per_epoch, evaluating = self.seconds_an_epoch(), self.evaluation_seconds()
        is_unknown = evaluating is None and not epochs
        if is_unknown or (per_epoch is None and (epochs or not evaluating)):
            return None
        return epochs * (per_epoch or 0.0) + (evaluating or 0.0)

    def evaluation_seconds(self) -> float | None:
        """Estimate how long the evaluations take that are still to be made.

        None until one of each kind has ended: only then its seconds are known.
        """
        with self._lock:
            missing = {key: [*kinds] for key, kinds in self.unevaluated.items() if kinds}
            seconds = {kind: fmean(values) for kind, values in self._evaluation_seconds.items()}
        numbers = Counter(kind for kinds in missing.values() for kind in kinds)
        num_to_come = self.mean_share * (self.num_cells - len(self.cells))
        totals = [
            seconds.get(kind, math.nan) * (numbers[kind] + num_to_come * (kind in self.evaluations))
            for kind in {*numbers, *(self.evaluations if num_to_come else ())}
        ]
        at_once = min(self.num_concurrent, len(missing) + num_to_come)
        total = sum(totals) / max(1, at_once)
        return None if math.isnan(total) else total


def best_arm(
    places: Iterable[tuple[str, int]], errors: Mapping[tuple[str, int], float]
) -> BestArm | None:
    """Return the arm with the lowest mean error, None until one can be judged.

    One seed of several may be a lucky one: it takes two, and at least half as many as another arm
    has.

    Args:
        places: Arm and seed of each cell that counts.
        errors: Place -> validation error of the trials that finished.
    """
    planned: dict[str, int] = {}
    finished: dict[str, list[float]] = {}
    for arm, seed in places:
        planned[arm] = planned.get(arm, 0) + 1
        if (arm, seed) in errors:
            finished.setdefault(arm, []).append(errors[arm, seed])
    most = max(map(len, finished.values()), default=0)
    judged = [
        BestArm(fmean(values), arm, len(values), planned[arm])
        for arm, values in finished.items()
        if len(values) >= min(2, planned[arm]) and 2 * len(values) >= most
    ]
    return min(judged, key=attrgetter("error"), default=None)


def empty_cells(cells: Iterable[SurveyedCell]) -> list[SurveyedCell]:
    """Return the cells that a launch has to train."""
    return [cell for cell in cells if not cell.is_filled]
