"""The process around the recorder: the lock, the driver's word, and patience with the store.

Started by a driver as `python -m sweeps.execution.recorder.process`. It ends when the driver says
so, or is gone; the last thing it prints is what the store has refused, if it has. Of several over
one storage the one that holds the lock serves all; when it ends another takes over.
"""

import argparse
import logging
import os
import select
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from itertools import takewhile
from pathlib import Path

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.recorder.evaluations import EvaluationCarrier
from sweeps.execution.recorder.manifest_file import ManifestReader
from sweeps.execution.recorder.recorder import Recorder
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.records.errors import StoreUnreachable
from sweeps.records.plain_text import one_line
from sweeps.storage.file_lock import FileLock, is_locked
from sweeps.storage.locations import Storage
from sweeps.tracking.addresses import public
from sweeps.tracking.opening import open_store
from sweeps.tracking.store import RecordStore, RecordWriter

POLL_SECONDS = 0.25
RETRY_SECONDS = 1.0
MANIFEST_SECONDS = 5.0  # at least, between two manifests of a search that grows
ORPHAN_SECONDS = 10.0  # that a recorder takes for the rest when its driver is gone
INTERRUPTED_EXIT_CODE = 130
TRACKING_URI_VARIABLE = "CAPSWEEP_RECORDER_TRACKING_URI"
_LOG = logging.getLogger(__name__)


class _Refused(Exception):  # noqa: N818 - reads as what it is
    """The store answers, but has refused something."""


class RecorderProcess:
    """The loop around a recorder.

    Attributes:
        complaint: Why records are left, in one line; "" where none are or the store is away.
    """

    def __init__(self, storage: Storage, store: RecordStore, sweep: str) -> None:
        self.complaint = ""
        self._storage = storage
        self._store = store
        self._sweep = sweep
        self._queue = RecorderQueue(storage.journals, store.address)
        self._lock = FileLock(self._queue.lock_path)
        self._is_serving = False
        self._writer: RecordWriter | None = None
        self._manifest = ManifestReader(storage.journals, sweep)
        self._published = ""
        self._started_at = self._published_at = time.monotonic()

    def run(self) -> int:
        """Serve until the driver says to finish or is gone. Returns 0, or 3 with records left."""
        while not _driver_speaks(POLL_SECONDS):
            self._try(self._serve)
        word = sys.stdin.readline().strip()
        deadline = time.monotonic() + float(word or ORPHAN_SECONDS)
        # workers outlive a killed driver for a moment, and tell to the end
        while self._try(self._is_busy) and time.monotonic() < deadline:
            self._try(self._serve)
            time.sleep(POLL_SECONDS)
        while not (is_carried := self._try(self._finish)) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        if not word:
            self._try(self._settle_sweep)
        return 0 if is_carried else 3

    def _serve(self) -> bool:
        """Carry what is new: the driver's own sweep, then others' until the driver has a word."""
        if time.monotonic() > self._published_at + self._manifest_pause():
            self._publish_manifest()
        if self._is_first():
            recorder = self._recorder()
            recorder.drain(self._queue.open_cells(self._sweep))
            complaint = recorder.complaint
            recorder.drain(takewhile(lambda _: not _driver_speaks(0), self._queue.open_cells()))
            _refuse(complaint or recorder.complaint)
            self._carry_evaluations()
        return self._is_serving

    def _finish(self) -> bool:
        """Carry what is left of the driver's sweep, or see whether the serving recorder has."""
        recorder = self._recorder()
        if self._is_first():
            recorder.drain(self._queue.open_cells(self._sweep))
        complaint = recorder.complaint
        recorder.settle_interrupted(self._is_over)  # of other sweeps too, so no word on this one
        _refuse(complaint)
        self._publish_manifest()
        if self._is_first():
            self._carry_evaluations()
        is_behind = any(map(recorder.is_behind, self._queue.open_cells(self._sweep)))
        is_behind |= any(trial.sweep == self._sweep for trial in self._queue.evaluated())
        return not is_behind

    def _carry_evaluations(self) -> None:
        carrier = EvaluationCarrier(self._connected(), self._queue, self._storage.cells)
        carrier.drain()
        _refuse(carrier.complaint)

    def _manifest_pause(self) -> float:
        """Return how long to wait between two manifests: longer in a longer search.

        Each is an artifact that stays, so their number grows as the logarithm of the time.
        """
        return max(MANIFEST_SECONDS, (time.monotonic() - self._started_at) / 20)

    def _publish_manifest(self) -> None:
        """Make the manifest that the driver has handed over, with its growth, the current one."""
        text = self._manifest.text()
        if text not in {"", self._published} and (
            record := self._connected().find_sweep(self._sweep)
        ):
            self._connected().set_manifest(record.record_id, text)
            self._published = text
        self._published_at = time.monotonic()

    def _settle_sweep(self) -> bool:
        """Mark the sweep as interrupted, unless a driver lives to settle it."""
        record = self._connected().find_sweep(self._sweep)
        if record and record.is_running and not self._is_launched(self._sweep):
            self._connected().settle_sweep(record.record_id, INTERRUPTED_EXIT_CODE)
        return True

    def _is_first(self) -> bool:
        """Return whether no other recorder serves this store."""
        self._is_serving = self._is_serving or self._lock.acquire()
        return self._is_serving

    def _is_busy(self) -> bool:
        own = self._queue.open_cells(self._sweep)
        return any(CellFolder(self._storage.cells, queued.trial_key).is_busy() for queued in own)

    def _is_over(self, sweep: str) -> bool:
        return sweep == self._sweep or (self._is_serving and not self._is_launched(sweep))

    def _is_launched(self, sweep: str) -> bool:
        return is_locked(self._storage.journals / f"{sweep}.lock")

    def _recorder(self) -> Recorder:
        return Recorder(self._connected(), self._queue, self._storage.cells)

    def _connected(self) -> RecordWriter:
        if self._writer is None:
            self._writer = self._store.writer()
        return self._writer

    def _try(self, step: Callable[[], bool]) -> bool:
        """Do a step; a store that does not answer, or refuses, only costs time."""
        self.complaint = ""
        try:
            return step()
        except (_Refused, OSError, sqlite3.Error) as error:  # an unreachable store is an OSError
            text = one_line(public(str(error)))[:300]
            self.complaint = "" if isinstance(error, StoreUnreachable) else text
            _LOG.warning("will try again: %s", text)
            _driver_speaks(RETRY_SECONDS)  # rest until then
            return False


def _refuse(complaint: str) -> None:
    if complaint:
        raise _Refused(complaint)


def _driver_speaks(wait_seconds: float) -> bool:
    """Return whether the driver says how long the rest may take, or is gone."""
    readable, _, _ = select.select([sys.stdin], [], [], wait_seconds)
    return bool(readable)


def main() -> int:
    """Run a recorder process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--storage", type=Path, required=True)
    parser.add_argument("--sweep", required=True)
    arguments = parser.parse_args()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    tracking_uri = os.environ[TRACKING_URI_VARIABLE]  # not an argument: those are seen by everybody
    store = open_store(tracking_uri, arguments.storage)
    process = RecorderProcess(Storage(arguments.storage), store, arguments.sweep)
    with redirect_stdout(sys.stderr):  # the driver reads nothing else from there than this:
        exit_code = process.run()
    sys.stdout.write(process.complaint)
    return exit_code


if __name__ == "__main__":
    raise SystemExit(main())
