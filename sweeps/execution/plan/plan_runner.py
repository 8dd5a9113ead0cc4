"""The plan of a launch while it runs: events of the engine in, jobs and stops out.

The runner asks the plan what follows from each event, writes each decision to the log, and only
then lets it take effect. Earlier decisions come from the log and are never made twice. A verdict
may be lost when a driver dies, and another sweep may have trained a trial further: the runner reads
such facts from the cells' folders.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from capsmodel.metrics import EpochMetrics, find_metric, why_unseen
from search_spaces.looks import Look, Looked
from search_spaces.plans.decisions import (
    CellEnded,
    CellOutcome,
    Continue,
    Decision,
    Done,
    EndSearch,
    EpochTold,
    Event,
    Measured,
    Pause,
    Propose,
    ProposeRandom,
    Select,
    SlotFree,
    Stop,
    Unselect,
)
from search_spaces.plans.known import Known
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.plan.definition import Specs
from sweeps.execution.plan.growing_definition import GrowingDefinition, GrowthListener
from sweeps.execution.plan.trial_measures import TrialMeasures
from sweeps.execution.worker.trial import TrialJob
from sweeps.records.errors import BadInput, SweepError
from sweeps.records.manifest import Manifest, ManifestCell
from sweeps.records.sweep_log import Decided, entries_of, line_of
from sweeps.records.trial_record import Outcome, TrialRecord

if TYPE_CHECKING:
    from search_spaces.plans.base import Definition


class TrialFacts:
    """The results of trials that a plan may see: no test metrics.

    Args:
        cells: The folder of the cells' folders.
        record_of: Returns a trial's record in the tracking store, by its key.
    """

    def __init__(self, cells: Path, record_of: Callable[[str], TrialRecord | None]) -> None:
        self._cells = cells
        self._record_of = record_of
        self._records: dict[str, TrialRecord | None] = {}
        self._is_store_reachable = True

    def folder(self, trial_key: str) -> CellFolder:
        """Return a cell's folder."""
        return CellFolder(self._cells, trial_key)

    def epochs(self, trial_key: str) -> Iterator[EpochTold]:
        """Yield the epochs in a trial's folder."""
        folder = self.folder(trial_key)
        lines, _ = folder.read_outbox()
        final = folder.read_final()
        for line in final.curve if final else [line.epoch for line in lines if line.epoch]:
            yield EpochTold(trial_key, line.epoch, _numbers(line))

    def ended(self, trial_key: str) -> CellEnded | None:
        """Return how a trial has ended, None if it has not, as far as is known."""
        folder = self.folder(trial_key)
        if final := folder.read_final():
            last: dict[str, Any] = _numbers(final.tested) if final.tested else {}
            return CellEnded(
                trial_key, cast(CellOutcome, final.outcome.value), len(final.curve), last
            )
        if folder.outbox_size():
            return None
        record = self.recorded(trial_key)
        if record and record.outcome.is_final:
            last = {name: value for name, value in record.metrics.items() if _may_be_seen(name)}
            return CellEnded(
                trial_key, cast(CellOutcome, record.outcome.value), record.epochs, last
            )
        return None

    def recorded(self, trial_key: str) -> TrialRecord | None:
        """Return a trial's record in the tracking store, which is asked once.

        Training does not wait for an unreachable store: the trial is then trained anew.
        """
        if trial_key not in self._records:
            self._records[trial_key] = None
            if self._is_store_reachable:
                try:
                    self._records[trial_key] = self._record_of(trial_key)
                except SweepError:
                    self._is_store_reachable = False
        return self._records[trial_key]


def _numbers(line: EpochMetrics) -> dict[str, Any]:
    best = {"best_epoch": line.best_epoch} if line.best_epoch else {}
    return {**line.numbers(), "reaches_target": line.reaches_target, **best}


def _may_be_seen(name: str) -> bool:
    """Return whether selection may see a metric; it never sees the test split."""
    metric = find_metric(name)
    return metric is None or not why_unseen(metric)


JobMaker = Callable[[Specs, ManifestCell], TrialJob]


class Decider(Protocol):
    """What makes decisions: a plan itself, or the adapter of a plan such as a search."""

    def decide(self, definition: "Definition", journal: Any, event: Event) -> Sequence[Decision]:
        """Return what follows from an event."""
        ...

    def nothing_known(
        self, keys: Mapping[tuple[str, int], str], num_epochs: Mapping[str, int]
    ) -> Any:
        """Return the state of a sweep without decisions and results."""
        ...

    def reason(self, stop: Stop) -> str:
        """Return why a trial was stopped, as one line for its record."""
        ...


Looker = Callable[[Look, Manifest], Looked | None]
"""Takes the verdicts of a look, given the manifest with those before it.

None where trials lack the evaluations that it judges.
"""


class DecisionLog(Protocol):
    """Where decisions are written before they take effect."""

    def append(self, entry: Decided) -> None:
        """Write a decision; it is on disk when this returns."""
        ...


def check_readable(entry: Decided) -> None:
    """Check that a decision can be read again from the log.

    Raises:
        BadInput: If it cannot.
    """
    try:
        is_same = entries_of(line_of(entry)) == [entry]
    except ValueError as error:
        reason = " ".join(str(error).split())[:200]
        raise BadInput(
            f"The plan decides {entry.kind} with values that cannot be recorded ({reason}): give "
            f"plain numbers, texts, lists and mappings."
        ) from error
    if not is_same:
        raise BadInput(
            f"The plan decides {entry.kind} with values that are read again as others: give plain "
            f"numbers, texts, lists and mappings."
        )


class PlanRunner:
    """Runs the plan of a launch. Not thread-safe: a single loop calls it.

    Args:
        definition: The definition with all decisions of earlier launches.
        decider: Makes the decisions.
        log: The sweep's log.
        job_of: Returns what a worker needs to train a cell of a definition.
        facts: The results in the cells' folders and the tracking store.
        listener: Hears of everything that the plan adds.
        look: Takes the verdicts of a look.

    Attributes:
        known: The state that results from all decisions and results.
        is_look_due: Whether a look, or what follows in a search, waits for evaluations.
    """

    def __init__(
        self,
        definition: GrowingDefinition,
        decider: Decider,
        log: DecisionLog,
        job_of: JobMaker,
        *,
        facts: TrialFacts,
        listener: GrowthListener,
        look: Looker,
    ) -> None:
        self.definition = definition
        self.known: Known = decider.nothing_known(definition.manifest.keys, definition.epochs)
        self._decider = decider
        self._log = log
        self._job_of = job_of
        self._facts = facts
        self._listener = listener
        self._look = look
        self._is_look_due = False
        self._measures = TrialMeasures(definition.declared.manifest, facts.folder, facts.recorded)
        self._measured: set[tuple[str, int]] = set()  # trial keys and epochs in the log
        self._unevaluated: set[str] = set()  # trials that have ended and lack a limited measure
        self._dispatched: set[str] = set()
        self._running: set[str] = set()
        self._searched: dict[str, None] = {}  # trial keys of what was proposed, in order
        self._open: dict[str, None] = {}
        self._waiting = deque[ManifestCell]()
        self._take_log()
        self._waiting = deque(definition.manifest.cells)

    @property
    def is_look_due(self) -> bool:
        """Whether a look, or what follows in a search, waits for evaluations."""
        return self._is_look_due or bool(self._unevaluated)

    def _take_log(self) -> None:
        """Replay earlier decisions, and read what their trials have done since."""
        decisions = [entry.decision for entry in self.definition.snapshot().decisions]
        entries = [entry for entry in decisions if not isinstance(entry, Select | Unselect)]
        keys = self.definition.manifest.keys
        proposed = [entry for entry in entries if isinstance(entry, Propose)]
        sweep = self.definition.declared.sweep
        at_start = sweep.plan.initial_cells(sweep)
        for proposal in [Propose(at_start)] * bool(at_start) + proposed:
            if all(cell.place in keys for cell in proposal.cells):
                self.known.take(proposal)
                self._searched |= dict.fromkeys(keys[cell.place] for cell in proposal.cells)
        self._open |= self._searched
        for entry in entries:
            if not isinstance(entry, Propose):
                self._take(entry)
        self._read_trials(self._searched)
        manifest = self.definition.manifest
        if manifest.selected and self._open and self.definition.declared.manifest.search:
            self._note(Unselect())
        if manifest.selected:
            self.known.take(manifest.selected)

    def more(self) -> list[TrialJob]:
        """Return the cells to train next, none if running ones have to end first."""
        while True:
            if jobs := self._dispatch():
                return jobs
            for key in list(self._open):
                if not self.known.by_key(key).waits_at:
                    self._check_ended(key)
            if self._unevaluated or not self._decide(SlotFree()):
                return []

    def judge(self, trial_key: str, result: EpochMetrics) -> bool:
        """Take an epoch; return whether the trial stops there, for good or to wait."""
        if trial_key not in self._searched:
            return False
        epoch_result = EpochTold(trial_key, result.epoch, _numbers(result))
        self.known.take(epoch_result)
        self._decide(epoch_result)
        trial = self.known.by_key(trial_key)
        return trial.stopped is not None or trial.waits_at > 0

    def why_stopped(self, trial_key: str) -> str:
        """Return why a trial was stopped, "" if it was not.

        The last epoch of a killed process may not have been judged: it is judged now.
        """
        if trial_key not in self._searched:
            return ""
        self._read_epochs(trial_key)
        self._judge(trial_key)
        stopped = self.known.by_key(trial_key).stopped
        return self._decider.reason(stopped) if stopped else ""

    def let_go(self, trial_key: str) -> int:
        """Take that a trial's process has ended; return the epoch at which it waits, else 0."""
        epoch = self.known.by_key(trial_key).waits_at if trial_key in self._searched else 0
        if epoch:
            self._dispatched.discard(trial_key)
            self._running.discard(trial_key)
        return epoch

    def ended(self, trial_key: str, outcome: Outcome) -> None:
        """Take that a trial has ended: its cell is filled, stopped, or stays empty."""
        self._running.discard(trial_key)
        if trial_key not in self._searched:
            return
        if outcome is Outcome.FAILED:
            self._end(CellEnded(trial_key, "failed"))
        self._check_ended(trial_key)

    def _decide(self, event: Event) -> bool:
        """Ask what follows from an event, and apply it; return whether more may follow.

        More may follow if the plan could decide more when asked again at once.
        """
        sweep = self.definition.declared.sweep
        decided = self._decider.decide(sweep, self.known, event)
        decisions = [decision for decision in decided if not self._is_early(decision)]
        return max(map(self._follow, decisions), default=False)

    def _follow(self, decision: Decision) -> bool:
        """Log a decision, then apply it; return whether more may follow at once."""
        match decision:
            case Propose(cells) if cells:
                self._propose(decision)
            case Stop() | Pause() | Continue():
                return self._judged(decision)
            case EndSearch() | Select():
                self._waiting.extend(self._note(decision).cells)
            case Look():
                return self._take_look(decision)
            case Done() if not self.known.is_over:
                self._note(decision)
                return False
            case _:
                return False
        return True

    def _note(self, decision: Decision) -> Decided:
        """Write a decision to the log, and only then let it take effect.

        Raises:
            BadInput: If it proposes what the settings refuse; nothing is written then.
        """
        entry = self.definition.resolved(decision)
        if not self.definition.declared.sweep.plan.is_search:
            check_readable(entry)  # a user's plan may decide anything
        self._log.append(entry)
        self.definition.take(entry)
        self._take(decision)
        self._listener.grown(entry)
        return entry

    def _take_look(self, look: Look) -> bool:
        """Take verdicts and log them, unless trials lack the evaluations that they rest on."""
        looked = self._look(look, self.definition.manifest.manifest())
        self._is_look_due = looked is None
        if looked is not None:
            self._note(looked)
        return looked is not None

    def _judged(self, verdict: Stop | Pause | Continue) -> bool:
        """Log a verdict, then apply it; return whether its trial was waiting for it."""
        key = verdict.trial_key
        has_waited = self.known.by_key(key).waits_at > 0
        if not isinstance(verdict, Continue) and (values := self._values_until(verdict)):
            self._note_measured(key, verdict.epoch, values)
        self._note(verdict)
        goes_on = (
            has_waited and self.known.by_key(key).is_open
        )  # or stopped, but drawn at random too
        if isinstance(verdict, Stop):
            is_not_running = has_waited and key not in self._dispatched
            if is_not_running and not goes_on:  # else it is marked when its process has ended
                self._mark_stopped(key, verdict)
        if goes_on:
            self._dispatched.discard(key)
            self._waiting.append(self.definition.manifest.cells_of(key)[0])
            self._read_epochs(key)  # another sweep may have trained it to its next rung
            self._judge(key)
        return has_waited

    def _is_early(self, decision: Decision) -> bool:
        """Return whether the process of a stopped trial may still hold a drawn one."""
        is_drawn = isinstance(decision, ProposeRandom)
        return is_drawn and not all(self.known.by_key(key).is_open for key in self._running)

    def _propose(self, decision: Propose) -> None:
        entry = self._note(decision)
        keys = [cell.trial_key for cell in entry.cells]
        self._searched |= dict.fromkeys(keys)
        opened = dict.fromkeys(key for key in keys if self.known.by_key(key).is_open)
        self._open |= opened
        self._dispatched -= opened.keys() - self._running  # a scheduler may have stopped them
        self._waiting.extend(entry.cells)
        self._read_trials(dict.fromkeys(keys))

    def _take(self, entry: Decision | CellEnded) -> None:
        self.known.take(entry)
        if isinstance(entry, Measured):
            self._measured.add((entry.trial_key, entry.epoch))
        if isinstance(entry, Stop | CellEnded) and not self.known.by_key(entry.trial_key).is_open:
            self._open.pop(entry.trial_key, None)
            self._unevaluated.discard(entry.trial_key)

    def _dispatch(self) -> list[TrialJob]:
        """Return jobs for the open cells that were not dispatched yet."""
        jobs: list[TrialJob] = []
        while self._waiting:
            cell = self._waiting.popleft()
            if cell.trial_key in self._dispatched or self._is_closed(cell):
                continue
            self._dispatched.add(cell.trial_key)
            self._running.add(cell.trial_key)
            jobs.append(self._job_of(self.definition, cell))
        return jobs

    def _is_closed(self, cell: ManifestCell) -> bool:
        if cell.trial_key in self._searched:
            self._check_ended(cell.trial_key)
            trial = self.known.by_key(cell.trial_key)
            is_over = not trial.is_open or cell.trial_key in self._unevaluated
            return is_over or trial.waits_at > 0
        return self._facts.ended(cell.trial_key) is not None

    def _read_trials(self, keys: Mapping[str, None]) -> None:
        """Read how far trials are, judge them, and mark those that are stopped."""
        for key in keys:
            self._read_epochs(key)
            if ended := self._ended(key):
                self._take(ended)
        for key in keys:
            if self.known.by_key(key).is_open:
                self._judge(key)
        for key in keys:
            if stopped := self.known.by_key(key).stopped:
                self._mark_stopped(key, stopped)

    def _read_epochs(self, trial_key: str) -> None:
        """Read the epochs in a trial's folder."""
        for epoch_result in self._facts.epochs(trial_key):
            self.known.take(epoch_result)

    def _check_ended(self, trial_key: str) -> None:
        """Take the end of a trial, if it has ended."""
        if self.known.by_key(trial_key).is_open and (ended := self._ended(trial_key)):
            self._end(ended)

    def _ended(self, trial_key: str) -> CellEnded | None:
        """Return how a trial has ended, once its limited measures are in the log.

        Returns:
            None if it has not ended, or lacks an evaluation that the search limits.
        """
        ended = self._facts.ended(trial_key)
        if ended is None or not self._measures.names or not self.known.by_key(trial_key).is_open:
            return ended
        if (trial_key, ended.epoch) in self._measured:
            return ended
        values = self._measures.at_end(trial_key)
        if values is None:
            self._unevaluated.add(trial_key)
            return None
        self._unevaluated.discard(trial_key)
        self._note_measured(trial_key, ended.epoch, values)
        return ended

    def _values_until(self, verdict: Stop | Pause) -> Mapping[str, float]:
        """Return the limited measures of a trial that stops or pauses, none if they are logged."""
        if not self._measures.names or (verdict.trial_key, verdict.epoch) in self._measured:
            return {}
        return self._measures.until(verdict.trial_key, verdict.epoch)

    def _note_measured(self, trial_key: str, epoch: int, values: Mapping[str, float]) -> None:
        """Write to the log what a trial has measured, before anything is decided by it."""
        self._note(Measured(trial_key, epoch, values))

    def _end(self, ended: CellEnded) -> None:
        self._take(ended)
        self._decide(ended)

    def _judge(self, trial_key: str) -> None:
        """Ask for a verdict on a trial's last epoch."""
        epochs = self.known.by_key(trial_key).epochs
        if epochs and trial_key not in self._unevaluated:
            last = max(epochs)
            self._decide(EpochTold(trial_key, last, epochs[last]))

    def _mark_stopped(self, trial_key: str, stopped: Stop) -> None:
        """Write into a trial's outbox that it was pruned, unless it says so or was resumed."""
        folder: CellFolder = self._facts.folder(trial_key)
        was_resumed = folder.is_filled() or folder.epochs_done() != stopped.epoch
        if was_resumed or folder.is_busy() or folder.is_pruned():
            return
        cell = self.definition.manifest.cells_of(trial_key)[0]
        spec = self._job_of(self.definition, cell).spec
        folder.append_pruned(spec, self._decider.reason(stopped))
