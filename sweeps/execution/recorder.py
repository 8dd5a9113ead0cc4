"""The recorder: one process that carries outboxes to MLflow, in batches, each thing once.

Trials never wait for it. It may be killed at any point and started again: a run is found by its
trial key before one is created, an epoch that MLflow has is not sent again, and what was sent but
not noted is sent with the same time, so that MLflow drops the copy.

Started by a driver as `python -m sweeps.execution.recorder`. It ends when the driver says so, or is
gone. Of several recorders over one storage the one that holds the lock serves all; when it ends
another takes over.
"""

import argparse
import logging
import os
import re
import select
import sqlite3
import sys
import time
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
from sweeps.execution.files import FileLock, is_locked
from sweeps.execution.recorder_queue import QueuedCell, RecorderQueue
from sweeps.execution.tracking import Tracking
from sweeps.locations import Storage
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

POLL_SECONDS = 0.25
RETRY_SECONDS = 1.0
TRACKING_URI_VARIABLE = "CAPSWEEP_RECORDER_TRACKING_URI"
_LOG = logging.getLogger(__name__)


class Recorder:
    """Serves the queue of one tracking store from the cells of one storage."""

    def __init__(self, tracking: Tracking, queue: RecorderQueue, cells: Path) -> None:
        self._tracking = tracking
        self._queue = queue
        self._cells = cells

    def drain(self) -> int:
        """Carry what is new in every open cell. Returns how many cells had something new.

        Raises:
            MlflowException: If the store does not answer. What was carried is noted.
        """
        return sum(self._carry_or_begin_anew(queued) for queued in self._queue.open_cells())

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


class RecorderProcess:
    """The loop around a recorder: the lock, the driver's word, and patience with the store."""

    def __init__(self, storage: Storage, tracking_uri: str, sweep: str) -> None:
        self._storage = storage
        self._tracking_uri = tracking_uri
        self._sweep = sweep
        self._queue = RecorderQueue(storage.journals, tracking_uri)
        self._lock = FileLock(self._queue.lock_path)
        self._recorder: Recorder | None = None
        self._is_serving = False

    def run(self) -> int:
        """Serve until the driver says to finish or is gone. Returns 0, or 3 with records left."""
        while not (word := _word_of_driver(POLL_SECONDS)):
            self._try(self._serve)
        deadline = time.monotonic() + float(word)
        while not self._try(self._finish):
            if time.monotonic() > deadline:
                return 3
            time.sleep(min(RETRY_SECONDS, POLL_SECONDS))
        return 0

    def _serve(self) -> bool:
        if not self._is_serving:
            self._is_serving = self._lock.acquire()
        if self._is_serving:
            self._connected().drain()
        return self._is_serving

    def _finish(self) -> bool:
        """Carry what is left of the driver's sweep, or wait until the serving recorder has."""
        if self._serve():
            self._connected().settle_interrupted(self._is_over)
            return True
        if any(self._is_behind(queued) for queued in self._queue.open_cells(self._sweep)):
            return False
        self._connected().settle_interrupted(lambda sweep: sweep == self._sweep)
        return True

    def _is_over(self, sweep: str) -> bool:
        return sweep == self._sweep or not is_locked(self._storage.journals / f"{sweep}.lock")

    def _is_behind(self, queued: QueuedCell) -> bool:
        folder = CellFolder(self._storage.cells, queued.trial_key)
        _, told_bytes = folder.read_outbox(queued.carried_bytes)  # without a torn last line
        return folder.is_filled() or told_bytes > queued.carried_bytes

    def _connected(self) -> Recorder:
        if self._recorder is None:
            tracking = Tracking(self._tracking_uri, self._storage.artifacts)
            self._recorder = Recorder(tracking, self._queue, self._storage.cells)
        return self._recorder

    def _try(self, step: Callable[[], bool]) -> bool:
        """Do a step; a store that does not answer only costs time."""
        try:
            return step()
        except (MlflowException, OSError, sqlite3.Error) as error:
            _LOG.warning("will try again: %s", without_credentials(str(error))[:300])
            time.sleep(RETRY_SECONDS)
            return False


def without_credentials(text: str) -> str:
    """Return a text in one line, with names and passwords taken out of its addresses."""
    return re.sub(r"://[^/\s]*@", "://", text).replace("\n", " ")


def _word_of_driver(wait_seconds: float) -> str | None:
    """Return how many seconds the driver grants for the rest, None while it goes on.

    A driver that is gone grants ten.
    """
    readable, _, _ = select.select([sys.stdin], [], [], wait_seconds)
    if not readable:
        return None
    return sys.stdin.readline().strip() or "10"


def main() -> int:
    """Run a recorder process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--storage", type=Path, required=True)
    parser.add_argument("--sweep", required=True)
    arguments = parser.parse_args()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    tracking_uri = os.environ[TRACKING_URI_VARIABLE]  # not an argument: those are seen by everybody
    process = RecorderProcess(Storage(arguments.storage), tracking_uri, arguments.sweep)
    return process.run()


if __name__ == "__main__":
    raise SystemExit(main())
