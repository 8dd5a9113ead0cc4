"""The recorder: it copies outboxes and evaluations to a tracking store, each thing once.

Trials never wait for it. It may be killed at any point and started again. It looks a record up by
its trial key before it creates one. It sends no epoch that the store has. If it sent an epoch and
was killed before it noted that, it sends it again with the same time stamp: the store drops the
copy.

The process around it is in `recorder_process`.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from capsmodel.metrics import EpochMetrics
from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.cells.folder import CellFolder, now_milliseconds
from sweeps.execution.cells.sealed_files import check_files
from sweeps.execution.recorder.recorder_queue import EvaluatedTrial, QueuedCell, RecorderQueue
from sweeps.records.cell_contents import FinalRecord, OutboxLine, TrialSpec
from sweeps.records.errors import BadInput, StoreRefused
from sweeps.records.evaluation_names import evaluation_metric
from sweeps.records.evaluation_record import EvaluationRecord
from sweeps.records.trial_record import (
    ARTIFACT_PREDICTIONS,
    ARTIFACT_WEIGHTS,
    Outcome,
)
from sweeps.tracking.store import RecordWriter

T = TypeVar("T")


class Recorder:
    """Serves the queue of one tracking store from the cells of one storage.

    Args:
        records: Records of the tracking store.
        queue: Queue of the same store.
        cells: Folder of the cells' folders.
        moved: Called whenever the store has taken something, with a name for it, which is the same
            if it is sent again, and with whether a cell is now complete.

    Attributes:
        error: Why the first cell or trial of the last call was not carried; "" if all were.
    """

    error = ""

    def __init__(
        self,
        records: RecordWriter,
        queue: RecorderQueue,
        cells: Path,
        moved: Callable[[str, bool], None] = lambda step, is_through: None,
    ) -> None:
        self._records = records
        self._queue = queue
        self._cells = cells
        self._moved = moved
        self._fences: dict[str, int] = {}  # of the last line carried, by trial key
        self._sweep_ids: dict[str, str] = {}  # sweep -> its record, looked up once a round

    def drain(self, cells: Iterable[QueuedCell] | None = None) -> int:
        """Record what is new in cells, by default in all open ones.

        A cell whose record the store refuses does not hold up the others.

        Returns:
            How many cells had something new.

        Raises:
            StoreUnreachable: If the store does not answer. The progress so far is stored.
        """
        cells = self._queue.open_cells() if cells is None else cells
        self._sweep_ids.clear()
        return self._each(cells, self._carry_or_begin_anew)

    def drain_evaluations(self) -> int:
        """Copy the evaluations of the trials that the queue names.

        The recorder may be killed at any point. The tag that marks an evaluation as recorded is
        written last, and what was sent without it is sent a second time with the same time stamp.

        Returns:
            How many trials were copied.

        Raises:
            StoreUnreachable: If the store does not answer.
        """
        return self._each(self._queue.evaluated(), self._carry_evaluations)

    def settle_interrupted(self, is_over: Callable[[str], bool]) -> None:
        """Mark trials that nobody trains as interrupted; remove those that no sweep wants.

        Args:
            is_over: Whether a sweep, given by its name, is not being launched.

        Raises:
            StoreUnreachable: If the store does not answer.
        """

        def settle(queued: QueuedCell) -> bool:
            if is_over(queued.sweep):
                self._settle(queued)
            return True

        self._each(self._queue.open_cells(), settle)

    def is_behind(self, queued: QueuedCell) -> bool:
        """Return whether a cell has reported what is not recorded yet."""
        folder = CellFolder(self._cells, queued.trial_key)
        lines, _ = self._read_on(queued, folder)
        return folder.is_filled() or bool(lines)

    def _each(self, items: Iterable[T], carry: Callable[[T], bool]) -> int:
        """Carry items one by one and count those that had something new.

        One that the store refuses does not keep the others back.
        """
        self.error = ""
        num_carried = 0
        for item in items:
            try:
                num_carried += carry(item)
            except (StoreRefused, BadInput) as error:
                self._records.check_reachable()
                reason = error.reason if isinstance(error, StoreRefused) else str(error)
                self.error = self.error or reason
        return num_carried

    def _settle(self, queued: QueuedCell) -> None:
        folder = CellFolder(self._cells, queued.trial_key)
        # in this order: a trial reports before it unlocks its cell
        if folder.is_busy() or self.is_behind(queued):
            return
        if queued.record_id and queued.outcome is Outcome.RUNNING:
            self._set_outcome(
                queued, queued.record_id, Outcome.INTERRUPTED, epochs=queued.last_epoch
            )
        if not queued.is_wanted:
            self._queue.forget([queued.trial_key])

    def _carry_or_begin_anew(self, queued: QueuedCell) -> bool:
        """Record a cell, from its beginning if somebody has deleted its record."""
        try:
            return self._carry(queued)
        except StoreRefused:
            if not queued.record_id or not self._records.is_deleted(queued.record_id):
                raise
        return self._carry(self._without_record(queued))

    def _without_record(self, queued: QueuedCell) -> QueuedCell:
        """Return a cell as one that has not been recorded, which the queue then says as well."""
        nothing = {"record_id": None, "carried_bytes": 0, "last_epoch": 0, "outcome": None}
        self._queue.update(queued.trial_key, **nothing)
        return self._queue.cell(queued.trial_key) or queued

    def _carry(self, queued: QueuedCell) -> bool:
        folder = CellFolder(self._cells, queued.trial_key)
        final = folder.read_final()  # before the outbox, so that all before it is read below
        queued = self._without_other_epochs(queued, folder, final)
        lines, carried_bytes = self._read_on(queued, folder)
        if not lines and not final:
            return False
        starts = [line.head for line in lines if line.type == "start" and line.head]
        record_id = queued.record_id
        if record_id is None:
            others = [line.head for line in lines if line.head] + [final.head if final else None]
            spec = starts[-1] if starts else others[0]
            if spec is None:  # a crash tore the start: the next attempt writes another
                return False
            record_id = self._record_of(
                queued, spec, lines[0].time if lines else now_milliseconds()
            )
        elif starts:
            self._records.describe_attempt(record_id, starts[-1])
        queued = self._queue.cell(queued.trial_key) or queued
        self._carry_epochs(queued, record_id, lines, final)
        self._carry_states(queued, record_id, folder, lines, is_filled=final is not None)
        if final:
            self._carry_final(record_id, folder, final)
        self._queue.update(
            queued.trial_key, carried_bytes=carried_bytes, is_closed=int(final is not None)
        )
        if final:
            self._fences.pop(queued.trial_key, None)
        elif lines:
            self._fences[queued.trial_key] = lines[-1].fence
        self._moved(f"all of {queued.trial_key}", True)
        return True

    def _without_other_epochs(
        self, queued: QueuedCell, folder: CellFolder, final: FinalRecord | None
    ) -> QueuedCell:
        """Drop the record of a filled cell if its epochs are not those of the final record.

        Two attempts have then reported epochs, one of them without its lock, and on a GPU their
        numbers differ.
        """
        is_first = final and final.fence == 1 and self._fences.get(queued.trial_key) == 1
        if not final or not queued.last_epoch or is_first:
            return queued
        lines, _ = folder.read_outbox()
        if all(_is_in(final, line.epoch) for line in lines if line.epoch):
            return queued
        self._records.mark_replaced([queued.trial_key])
        return self._without_record(queued)

    def _read_on(self, queued: QueuedCell, folder: CellFolder) -> tuple[list[OutboxLine], int]:
        """Read what is new in an outbox; all of one that somebody has replaced.

        A process reads an outbox whole once, and from then on only what was appended.
        """
        if queued.carried_bytes > folder.outbox_size():
            return folder.read_outbox()
        fence = self._fences.get(queued.trial_key) if queued.carried_bytes else None
        return folder.read_outbox(queued.carried_bytes, fence)

    def _record_of(self, queued: QueuedCell, spec: TrialSpec, started: int) -> str:
        """Look the record up by the trial key, or create it."""
        last_epoch, outcome = 0, Outcome.RUNNING
        if record := self._records.find_trial(queued.trial_key):
            record_id = record.record_id
            last_epoch = max(self._records.epochs(record_id), default=0)
            outcome = record.outcome or outcome
            self._records.describe_attempt(record_id, spec)
        else:
            record_id = self._records.create_trial(spec, self._sweep_id(queued), started)
        self._records.describe_trial(record_id, spec)
        self._moved(f"record of {queued.trial_key}", False)
        self._queue.update(
            queued.trial_key, record_id=record_id, last_epoch=last_epoch, outcome=outcome.value
        )
        return record_id

    def _sweep_id(self, queued: QueuedCell) -> str:
        """Return the record of a cell's sweep, which may have changed since the cell was queued."""
        if queued.sweep not in self._sweep_ids:
            record = self._records.find_sweep(queued.sweep)
            self._sweep_ids[queued.sweep] = record.record_id if record else queued.sweep_id
        return self._sweep_ids[queued.sweep]

    def _carry_epochs(
        self, queued: QueuedCell, record_id: str, lines: list[OutboxLine], final: FinalRecord | None
    ) -> None:
        epochs: dict[int, tuple[EpochMetrics, int]] = {}
        if final:  # the whole curve, should lines of the outbox have been lost
            epochs = {metrics.epoch: (metrics, final.time) for metrics in final.curve}
        epochs |= {
            line.epoch.epoch: (line.epoch, line.time)
            for line in lines
            if line.epoch and (final is None or _is_in(final, line.epoch))
        }
        known = frozenset(range(1, queued.last_epoch + 1))
        if final and known:  # lines may have been lost between those that were carried
            known = self._records.epochs(record_id)
        new = sorted(epochs.keys() - known)
        if new:
            self._records.log_epochs(record_id, [epochs[epoch] for epoch in new])
            last_epoch = max(queued.last_epoch, new[-1])
            self._queue.update(queued.trial_key, last_epoch=last_epoch)
            self._moved(f"epochs to {last_epoch} of {queued.trial_key}", False)

    def _carry_states(
        self,
        queued: QueuedCell,
        record_id: str,
        folder: CellFolder,
        lines: list[OutboxLine],
        *,
        is_filled: bool,
    ) -> None:
        """Record the last start, failure or pruning that the outbox reports."""
        states = [line for line in lines if line.type != "epoch"]
        if is_filled or not states:
            return
        state = states[-1]
        if state.type in {"failed", "pruned"}:
            self._records.upload(record_id, folder.log)
            facts = {"reason": state.reason, "epochs": folder.epochs_done(), "time": state.time}
            self._set_outcome(queued, record_id, Outcome(state.type), **facts)
        elif queued.outcome is not Outcome.RUNNING:
            self._set_outcome(queued, record_id, Outcome.RUNNING, reason="", time=state.time)

    def _carry_final(self, record_id: str, folder: CellFolder, final: FinalRecord) -> None:
        check_files(folder, final)
        files = {
            ARTIFACT_PREDICTIONS: folder.predictions,
            ARTIFACT_WEIGHTS: folder.weights,
            folder.log.name: folder.log,
        }
        for name, path in files.items():
            self._records.upload(record_id, path, name)
            self._moved(f"{name} of {folder.trial_key}", False)
        self._records.set_final(record_id, final)
        self._queue.update(folder.trial_key, outcome=final.outcome.value)

    def _set_outcome(
        self, queued: QueuedCell, record_id: str, outcome: Outcome, **facts: Any
    ) -> None:
        self._records.set_outcome(record_id, outcome, **facts)
        self._queue.update(queued.trial_key, outcome=outcome.value)

    def _carry_evaluations(self, trial: EvaluatedTrial) -> bool:
        """Record the evaluations of a trial; one that has no record yet waits.

        What the record has already stays, also if it came from another storage.
        """
        trial_record = self._records.find_trial(trial.trial_key)
        if trial_record is None:
            return False
        notes = CellEvaluations(self._cells / trial.trial_key)
        for key in sorted(
            notes.keys() - self._records.recorded_evaluation_keys(trial_record.record_id)
        ):
            if record := notes.read(key):
                self._log_evaluation(trial_record.record_id, record, notes.files(record))
        self._queue.drop_evaluated(trial)
        self._moved(f"evaluations of {trial.trial_key}", False)
        return True

    def _log_evaluation(
        self, record_id: str, record: EvaluationRecord, files: Mapping[str, Path]
    ) -> None:
        numbers = {
            evaluation_metric(record.kind, record.evaluation_key, name): value
            for name, value in record.metrics.items()
        }
        self._records.log_metrics(record_id, numbers, record.time, 0)
        for name, path in files.items():
            self._records.upload(record_id, path, name)
        self._records.record_evaluation(record_id, record.evaluation_key, record.kind)


def _is_in(final: FinalRecord, epoch: EpochMetrics) -> bool:
    """Return whether a final record has an epoch with the same numbers, which may be NaN."""
    place = epoch.epoch - 1
    of_final = final.curve[place : place + 1]
    return any(repr(same.numbers()) == repr(epoch.numbers()) for same in of_final)
