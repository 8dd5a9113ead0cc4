"""The process around the recorder: its lock, its driver, and its retries.

A driver starts it as `python -m sweeps.execution.recorder`. It ends when the driver says so or has
ended. Of several processes over one storage the one with the lock serves all; when it ends, another
takes over. From the driver's `Finish` on it reports how many trials are recorded, and at last why
some are not.
"""

import logging
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import takewhile

from pydantic import BaseModel

from sweeps.execution.cells.folder import CellFolder, now_milliseconds
from sweeps.execution.channel import Channel
from sweeps.execution.recorder.live_numbers import LiveNumbers
from sweeps.execution.recorder.recorder import Recorder
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.sweep_log import LogReader, is_launching
from sweeps.records.errors import BadInput, SweepError
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line
from sweeps.records.sweep_log import entries_of, manifest_of
from sweeps.storage.locations import Storage
from sweeps.tracking.addresses import public
from sweeps.tracking.store import RecordStore, RecordWriter
from sweeps.tracking.sweep_logs import publish_log

_SECONDS_BETWEEN_REPORTS = 1.0
_REFUSED_SECONDS = 15.0
_MOST_REFUSALS = 3


class Rest:
    """How much is left to record after the driver's work, and when to give up.

    It may take any time while there is progress. It ends by a timeout of the store, or sooner if
    the store answers and refuses all that is left several times. What is sent twice, because the
    store refused what came after it, is no progress.

    Args:
        timeout_seconds: How long it may go without progress.
        num_left: Trials that are to be recorded.
        on_progress: Called with how many are recorded, and of how many.
    """

    def __init__(
        self, timeout_seconds: float, num_left: int, on_progress: Callable[[int, int], None]
    ) -> None:
        self._timeout_seconds = timeout_seconds
        self._num_left = num_left
        self._on_progress = on_progress
        self._num_done = self._num_refusals = 0
        self._taken = set[str]()
        self._moved_at = self._reported_at = time.monotonic()
        on_progress(0, num_left)

    @property
    def is_over(self) -> bool:
        """Whether there was no progress for too long."""
        timeout = self._timeout_seconds
        if self._num_refusals >= _MOST_REFUSALS:
            timeout = min(timeout, _REFUSED_SECONDS)
        return time.monotonic() > self._moved_at + timeout

    def failed(self, *, is_refusal: bool) -> None:
        """Note that the store has refused what is left, or not answered."""
        self._num_refusals = self._num_refusals + 1 if is_refusal else 0

    def moved(self, step: str, is_through: bool) -> None:
        """Note that the store has taken something, which may complete a trial."""
        if step in self._taken and not is_through:
            return
        self._taken.add(step)
        self._num_refusals = 0
        self._moved_at = time.monotonic()
        self._num_done = min(self._num_left, self._num_done + is_through)
        if is_through or self._moved_at > self._reported_at + _SECONDS_BETWEEN_REPORTS:
            self._on_progress(self._num_done, self._num_left)
            self._reported_at = self._moved_at


LOG_SECONDS = 5.0  # at least, between two copies of the log of a search that grows
INTERRUPTED_EXIT_CODE = 130


class SweepRecord:
    """The record of a sweep: keeps log and numbers current, and makes it anew if it is lost.

    Args:
        store: Opened when it is first needed.
        storage: With the log that the driver writes, and the cells.
        sweep: Name of the sweep.
    """

    def __init__(self, store: RecordStore, storage: Storage, sweep: str) -> None:
        self._store = store
        self._sweep = sweep
        self._writer: RecordWriter | None = None
        self._log = LogReader(storage.journals, sweep)
        self._numbers = LiveNumbers(storage.cells)
        self._manifest: Manifest | None = None  # that which the published log comes to
        self._shown: dict[str, float] = {}
        self._published = b""
        self._started_at = self._published_at = time.monotonic()

    @property
    def writer(self) -> RecordWriter:
        """The store, open for writing."""
        if self._writer is None:
            self._writer = self._store.writer()
        return self._writer

    @property
    def is_open(self) -> bool:
        """Whether the store is open for writing."""
        return self._writer is not None

    @property
    def is_due(self) -> bool:
        """Whether the log should be published again: less often in a longer search.

        Each is an artifact that stays, so their number grows as the logarithm of the time.
        """
        now = time.monotonic()
        return now > self._published_at + max(LOG_SECONDS, (now - self._started_at) / 20)

    def publish(self) -> None:
        """Publish what the driver has written so far, and what the trials come to."""
        try:
            log = self._log.shared()
        except BadInput as error:  # trials are recorded all the same
            _LOG.warning("%s", error)
            log = b""
        record = self.writer.find_sweep(self._sweep) if log else None
        if record and log != self._published:
            self.writer.set_sweep_log(record.record_id, log.decode())
            self._published, self._manifest = log, None
        if record and record.is_running:
            self._show(record.record_id)
        self._published_at = time.monotonic()

    def _show(self, record_id: str) -> None:
        """Write the numbers of a sweep that runs, where they have changed."""
        try:
            self._manifest = self._manifest or manifest_of(entries_of(self._published))
            numbers = self._numbers.of(self._manifest) if self._manifest else self._shown
            if numbers != self._shown:
                self.writer.log_metrics(record_id, numbers, now_milliseconds(), 0)
                self._shown = numbers
        except (SweepError, ValueError) as error:  # trials are recorded all the same
            _LOG.warning("what runs is not shown: %s", public(str(error)))

    def settle(self) -> None:
        """Mark the sweep as interrupted, if it is marked as running."""
        record = self.writer.find_sweep(self._sweep)
        if record and record.is_running:
            self.writer.settle_sweep(record.record_id, INTERRUPTED_EXIT_CODE)

    def is_lost(self) -> bool:
        """Return whether the store has lost a sweep that was launched.

        Raises:
            StoreUnreachable: If it does not answer.
        """
        if not self._log.shared():
            return False
        return not self._store.exists() or self.writer.find_sweep(self._sweep) is None

    def make_anew(self) -> str:
        """Make the store, the sweep's record and its log anew; return the record's id.

        Raises:
            StoreUnreachable: If it does not answer.
        """
        self._writer, self._shown = None, {}
        self._published = self._log.shared()
        self._manifest = manifest_of(entries_of(self._published))
        assert self._manifest
        return publish_log(self.writer, self._manifest, self._published)


POLL_SECONDS = 0.25
_BUSY_SHARE = 0.05  # of a processor, which trials need more
_LONGEST_REST_SECONDS = 5.0
RETRY_SECONDS = 1.0
LOAD_SECONDS = 5.0  # at most, that starts of trials wait for what writes to the store
ORPHAN_SECONDS = 10.0  # of silence, that a recorder takes for the rest when its driver is gone
TRACKING_URI_VARIABLE = "CAPSWEEP_RECORDER_TRACKING_URI"
_LOG = logging.getLogger(__name__)


class Finish(BaseModel):
    """Tells it to record the rest and end, and to give up after so long without progress."""

    timeout_seconds: float


class RecorderReport(BaseModel):
    """How many trials are recorded, and of how many; or at the end, why some are not."""

    num_done: int = 0
    num_left: int = 0
    error: str = ""


class _Refused(Exception):  # noqa: N818 - reads as what it is
    """The store answers, but has refused something."""


class RecorderProcess:
    """The loop around a recorder.

    Args:
        storage: The storage with the cells' folders.
        store: Where it records.
        sweep: Name of its driver's sweep.
        driver: The driver's end of the channel.

    Attributes:
        error: Why records are left, in one line; "" if none are.
    """

    def __init__(self, storage: Storage, store: RecordStore, sweep: str, driver: Channel) -> None:
        self.error = ""
        self._storage = storage
        self._sweep = sweep
        self._driver = driver
        self._queue = RecorderQueue(storage.journals, store.address)
        self._lock = self._queue.lock
        self._is_serving = False
        self._started_at = time.monotonic()
        self._record = SweepRecord(store, storage, sweep)
        self._rest: Rest | None = None

    def run(self) -> int:
        """Serve until the driver ends or says so. Returns 0, or 3 if records are left."""
        rest_seconds = POLL_SECONDS
        while not self._driver.is_readable(rest_seconds):
            before = time.process_time()
            self._try(self._serve)
            rest_seconds = _rest_after(time.process_time() - before)
        finish = None
        with suppress(EOFError):  # the driver has ended
            finish = Finish.model_validate_json(self._driver.receive() or b"")
        timeout_seconds = finish.timeout_seconds if finish else ORPHAN_SECONDS
        deadline = time.monotonic() + timeout_seconds
        # workers outlive a killed driver for a moment, and report until they end
        while self._try(self._is_busy) and time.monotonic() < deadline:
            self._try(self._serve)
            time.sleep(POLL_SECONDS)
        self._rest = Rest(timeout_seconds, self._num_filled(), self._report)
        while not (is_carried := self._try(self._finish)) and not self._rest.is_over:
            time.sleep(POLL_SECONDS)
        if not finish:
            self._try(self._settle_sweep)
        if self.error:
            self._report(error=self.error)
        return 0 if is_carried else 3

    def _report(self, num_done: int = 0, num_left: int = 0, error: str = "") -> None:
        with suppress(OSError):  # the driver has ended
            self._driver.send(RecorderReport(num_done=num_done, num_left=num_left, error=error))

    def _serve(self) -> bool:
        """Record what is new: the driver's sweep, then others until the driver sends a line."""
        if self._record.is_due:
            self._record.publish()
        if self._is_first() and self._is_awaited():
            recorder = self._recorder()
            recorder.drain(self._queue.open_cells(self._sweep))
            error = recorder.error
            others = takewhile(lambda _: not self._driver.is_readable(0), self._queue.open_cells())
            recorder.drain(others)
            _raise_refusal(error or recorder.error)
            _drain_evaluations(recorder)
        return self._is_serving

    def _finish(self) -> bool:
        """Record the rest of the driver's sweep, or see whether the serving recorder has."""
        recorder = self._recorder()
        if self._is_first():
            recorder.drain(self._queue.open_cells(self._sweep))
        error = recorder.error
        recorder.settle_interrupted(
            self._is_over
        )  # other sweeps' cells too: their errors are not ours
        _raise_refusal(error)
        self._record.publish()
        if self._is_first():
            _drain_evaluations(recorder)
        is_behind = any(map(recorder.is_behind, self._queue.open_cells(self._sweep)))
        is_behind |= any(trial.sweep == self._sweep for trial in self._queue.evaluated())
        if is_behind:
            self.error = "another recorder of this storage has not carried all of them yet"
        return not is_behind

    def _settle_sweep(self) -> bool:
        """Mark the sweep as interrupted, unless a driver still runs."""
        if not self._is_launched(self._sweep):
            self._record.settle()
        return True

    def _is_first(self) -> bool:
        """Return whether no other recorder serves this store."""
        self._is_serving = self._is_serving or self._lock.acquire()
        return self._is_serving

    def _is_awaited(self) -> bool:
        """Return whether there is more to record than that a trial has just started.

        Loading what writes to the store takes seconds of a processor, which the first trials on a
        small machine need for their first epoch.
        """
        if self._record.is_open or time.monotonic() > self._started_at + LOAD_SECONDS:
            return True
        cells = (CellFolder(self._storage.cells, c.trial_key) for c in self._queue.open_cells())
        return bool(self._queue.evaluated()) or any(cell.has_reported() for cell in cells)

    def _is_busy(self) -> bool:
        cells = self._queue.open_cells(self._sweep)
        return any(CellFolder(self._storage.cells, queued.trial_key).is_busy() for queued in cells)

    def _num_filled(self) -> int:
        cells = self._queue.open_cells(self._sweep)
        return sum(CellFolder(self._storage.cells, cell.trial_key).is_filled() for cell in cells)

    def _is_over(self, sweep: str) -> bool:
        return sweep == self._sweep or (self._is_serving and not self._is_launched(sweep))

    def _is_launched(self, sweep: str) -> bool:
        return is_launching(self._storage.journals, sweep)

    def _recorder(self) -> Recorder:
        return Recorder(self._record.writer, self._queue, self._storage.cells, self._moved)

    def _moved(self, step: str, is_through: bool) -> None:
        if self._rest:
            self._rest.moved(step, is_through)

    def _try(self, step: Callable[[], bool]) -> bool:
        """Do a step; return False after an error of the store, which is tried again later.

        A damaged queue ends the process: the next one makes it anew.
        """
        self.error = ""
        try:
            return step()
        except (_Refused, OSError, sqlite3.OperationalError) as error:
            self.error = one_line(public(str(error)))[:300] or type(error).__name__
            if self._rest:
                self._rest.failed(is_refusal=isinstance(error, _Refused))
            _LOG.warning("will try again: %s", self.error)
            with suppress(OSError):
                self._make_anew_what_is_lost()
            self._driver.is_readable(RETRY_SECONDS)  # rest until then
            return False

    def _make_anew_what_is_lost(self) -> None:
        """Begin to fill a store that came back empty, for instance as its database was deleted."""
        if self._record.is_lost():
            _LOG.warning("the tracking store has lost the sweep, which is recorded again")
            self._queue.begin_anew(self._sweep, self._record.make_anew())


def _rest_after(busy_seconds: float) -> float:
    """Return how long to wait for more, which is then recorded together."""
    return min(max(POLL_SECONDS, busy_seconds / _BUSY_SHARE), _LONGEST_REST_SECONDS)


def _drain_evaluations(recorder: Recorder) -> None:
    recorder.drain_evaluations()
    _raise_refusal(recorder.error)


def _raise_refusal(error: str) -> None:
    if error:
        raise _Refused(error)
