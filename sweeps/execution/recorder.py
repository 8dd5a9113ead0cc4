"""The recorder: one process that carries outboxes to MLflow, in batches, each thing once.

Trials never wait for it. It may be killed at any point and started again: a run is found by its
trial key before one is created, an epoch that MLflow has is not sent again, and what was sent but
not noted is sent with the same time, so that MLflow drops the copy.

The process around it is in `recorder_process`.
"""

from collections.abc import Callable
from pathlib import Path

from mlflow.exceptions import MlflowException

from sweeps.execution.cells import (
    CellFolder,
    EpochLine,
    FinalRecord,
    OutboxLine,
    TrialHead,
    now_milliseconds,
)
from sweeps.execution.recorder_queue import QueuedCell, RecorderQueue
from sweeps.execution.tracking import Tracking
from sweeps.records import (
    ARTIFACT_SOURCE,
    METRIC_TEST_ERROR,
    TAG_DURATION,
    TAG_EPOCHS,
    TAG_OUTCOME,
    TAG_PEAK_MEMORY,
    TAG_REASON,
    Outcome,
)


class Recorder:
    """Serves the queue of one tracking store from the cells of one storage."""

    def __init__(self, tracking: Tracking, queue: RecorderQueue, cells: Path) -> None:
        self._tracking = tracking
        self._queue = queue
        self._cells = cells

    def drain(self) -> int:
        """Carry what is new in every open cell. Returns how many cells had something new.

        A cell whose record the store refuses does not keep the others back.

        Raises:
            MlflowException: If the store does not answer, or has refused something. What was
                carried is noted.
        """
        num_carried = 0
        refusal: MlflowException | None = None
        for queued in self._queue.open_cells():
            try:
                num_carried += self._carry_or_begin_anew(queued)
            except MlflowException as error:
                self._tracking.refuse_absence()
                refusal = refusal or error
        if refusal:
            raise refusal
        return num_carried

    def settle_interrupted(self, is_over: Callable[[str], bool]) -> None:
        """Mark trials as interrupted that nobody trains any more.

        Args:
            is_over: Whether nobody launches a sweep, given its name.
        """
        for queued in self._queue.open_cells():
            folder = CellFolder(self._cells, queued.trial_key)
            if (
                queued.run_id
                and queued.outcome is Outcome.RUNNING
                and not folder.is_busy()
                and not folder.is_filled()  # in this order: another recorder may just carry it
                and is_over(queued.sweep)
            ):
                self._note(queued, queued.run_id, Outcome.INTERRUPTED, now_milliseconds())

    def _carry_or_begin_anew(self, queued: QueuedCell) -> bool:
        """Carry a cell; one whose run somebody has deleted is carried anew from its beginning."""
        try:
            return self._carry(queued)
        except MlflowException:
            if not queued.run_id or not self._tracking.is_gone(queued.run_id):
                raise
        nothing = {"run_id": None, "carried_bytes": 0, "last_epoch": 0, "outcome": None}
        self._queue.update(queued.trial_key, **nothing)
        return self._carry(self._queue.cell(queued.trial_key) or queued)

    def _carry(self, queued: QueuedCell) -> bool:
        folder = CellFolder(self._cells, queued.trial_key)
        final = folder.read_final()  # before the outbox, so that all it tells of is read below
        lines, carried_bytes = folder.read_outbox(queued.carried_bytes)
        if not lines and not final:
            return False
        run_id = queued.run_id
        if run_id is None:
            head = next((line.head for line in lines if line.head), final and final.head)
            if head is None:  # a crash tore the start: the next attempt tells of its own
                return False
            run_id = self._run_of(queued, head, lines[0].time if lines else now_milliseconds())
        queued = self._queue.cell(queued.trial_key) or queued
        self._carry_epochs(queued, run_id, lines, final)
        self._carry_states(queued, run_id, folder, lines, final)
        if final:
            self._carry_final(run_id, folder, final)
        self._queue.update(
            queued.trial_key, carried_bytes=carried_bytes, is_closed=int(final is not None)
        )
        return True

    def _run_of(self, queued: QueuedCell, head: TrialHead, started: int) -> str:
        """Find the trial's run by its key, or create it."""
        last_epoch, outcome = 0, Outcome.RUNNING.value
        if found := self._tracking.find_trial(queued.trial_key):
            run_id = found.info.run_id
            last_epoch = self._tracking.last_epoch(run_id)
            told = found.data.tags.get(TAG_OUTCOME)
            outcome = told if told in set(Outcome) else outcome
        else:
            run_id = self._tracking.create_trial(head, queued.parent_id, started)
        self._tracking.describe_trial(run_id, head)
        if head.source:
            self._tracking.upload_text(run_id, head.source, ARTIFACT_SOURCE)
        self._queue.update(queued.trial_key, run_id=run_id, last_epoch=last_epoch, outcome=outcome)
        return run_id

    def _carry_epochs(
        self, queued: QueuedCell, run_id: str, lines: list[OutboxLine], final: FinalRecord | None
    ) -> None:
        epochs: dict[int, tuple[EpochLine, int]] = {}
        if final:  # the whole curve, should lines of the outbox have been lost
            epochs = {line.epoch: (line, final.time) for line in final.curve}
        epochs |= {line.epoch.epoch: (line.epoch, line.time) for line in lines if line.epoch}
        new = [epochs[epoch] for epoch in sorted(epochs) if epoch > queued.last_epoch]
        if new:
            self._tracking.log_epochs(run_id, new)
            self._queue.update(queued.trial_key, last_epoch=new[-1][0].epoch)

    def _carry_states(
        self,
        queued: QueuedCell,
        run_id: str,
        folder: CellFolder,
        lines: list[OutboxLine],
        final: FinalRecord | None,
    ) -> None:
        """Carry the last of the starts and failures told of."""
        states = [line for line in lines if line.type != "epoch"]
        if final or not states:
            return
        if states[-1].type == "failed":
            self._tracking.upload(run_id, folder.log)
            reason = {TAG_REASON: states[-1].reason, TAG_EPOCHS: str(folder.epochs_done())}
            self._note(queued, run_id, Outcome.FAILED, states[-1].time, reason)
        elif queued.outcome is not Outcome.RUNNING:
            self._note(queued, run_id, Outcome.RUNNING, states[-1].time, {TAG_REASON: ""})

    def _carry_final(self, run_id: str, folder: CellFolder, final: FinalRecord) -> None:
        if final.test_error is not None:
            self._tracking.log_metric(
                run_id, METRIC_TEST_ERROR, final.test_error, final.time, len(final.curve)
            )
        for path in (folder.predictions, folder.weights, folder.log):
            self._tracking.upload(run_id, path)
        tags = {
            TAG_REASON: final.reason,
            TAG_EPOCHS: str(len(final.curve)),
            TAG_DURATION: f"{final.duration_seconds:.3f}",
        }
        if final.peak_memory_bytes is not None:
            tags[TAG_PEAK_MEMORY] = str(final.peak_memory_bytes)
        self._tracking.set_outcome(run_id, final.outcome, tags, final.time)
        self._queue.update(folder.trial_key, outcome=final.outcome.value)

    def _note(
        self,
        queued: QueuedCell,
        run_id: str,
        outcome: Outcome,
        moment: int,
        tags: dict[str, str] | None = None,
    ) -> None:
        self._tracking.set_outcome(run_id, outcome, tags or {}, moment)
        self._queue.update(queued.trial_key, outcome=outcome.value)
