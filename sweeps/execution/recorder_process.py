"""The process around the recorder: the lock, the driver's word, and patience with the store.

Started by a driver as `python -m sweeps.execution.recorder_process`. It ends when the driver says
so, or is gone. Of several over one storage the one that holds the lock serves all; when it ends
another takes over.
"""

import argparse
import logging
import os
import select
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

from mlflow.exceptions import MlflowException

from sweeps.aggregation.connection import public
from sweeps.aggregation.plain_text import one_line
from sweeps.execution.cells import CellFolder
from sweeps.execution.files import FileLock, is_locked
from sweeps.execution.recorder import Recorder
from sweeps.execution.recorder_queue import QueuedCell, RecorderQueue
from sweeps.execution.tracking import Tracking
from sweeps.locations import Storage

POLL_SECONDS = 0.25
RETRY_SECONDS = 1.0
TRACKING_URI_VARIABLE = "CAPSWEEP_RECORDER_TRACKING_URI"
_LOG = logging.getLogger(__name__)


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
            _LOG.warning("will try again: %s", one_line(public(str(error)))[:300])
            time.sleep(RETRY_SECONDS)
            return False


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
