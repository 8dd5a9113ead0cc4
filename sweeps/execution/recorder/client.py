"""The recorder's process as its driver sees it: started, kept alive, and finished."""

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path

from sweeps.execution.child_process import ChildLostError, ChildProcess
from sweeps.execution.recorder.recorder_process import (
    TRACKING_URI_VARIABLE,
    Finish,
    RecorderReport,
)
from sweeps.execution.worker.worker_process import without_token
from sweeps.storage.locations import Storage

_MAX_STARTS = 5
_SECONDS_BETWEEN_STARTS = 5.0
_STOP_SECONDS = 2.0
_START_SECONDS = 60.0  # for its imports, on a busy machine


def ignore_progress(num_done: int, num_left: int) -> None:
    """Ignore how far the recorder is."""


class RecorderClient:
    """A recorder process that serves one driver. It ends when the driver does.

    Attributes:
        error: After `finish`, why records are left, in one line; "" where none are.
    """

    def __init__(self, storage: Storage, tracking_uri: str, sweep: str) -> None:
        self.error = ""
        self._log: Path = storage.logs / f"recorder-{sweep}.log"
        self._command = [sys.executable, "-P", "-m", "sweeps.execution.recorder"]
        self._command += ["--storage", str(storage.root), "--sweep", sweep]
        self._environment = {**without_token(), TRACKING_URI_VARIABLE: tracking_uri}
        self._starts = 0
        self._process = self._start()

    @property
    def pid(self) -> int:
        """The recorder's process id."""
        return self._process.pid

    def keep_alive(self) -> None:
        """Restart it if it died; its queue knows how far it was.

        It is cheap enough for every turn of a loop. It starts it five times at most, with pauses.
        """
        has_rested = time.monotonic() > self._started_at + _SECONDS_BETWEEN_STARTS
        if has_rested and self._starts < _MAX_STARTS and not self._process.is_alive:
            self._restart()

    def finish(
        self,
        timeout_seconds: float,
        on_progress: Callable[[int, int], None] = ignore_progress,
        most_seconds: float = math.inf,
    ) -> bool:
        """Let it record the rest and end. Returns whether everything was recorded.

        It may take any time while it makes progress. It is restarted if it is killed meanwhile.

        Args:
            timeout_seconds: How long it may go without progress.
            on_progress: Called with how many trials are recorded, and of how many.
            most_seconds: How long it may take in all.
        """
        deadline = time.monotonic() + most_seconds
        self._starts = 0
        try:
            while True:
                if not self._process.is_alive:
                    self._restart()
                self.error = self._finish(timeout_seconds, on_progress, deadline)
                exit_code = self._process.exit_code
                if exit_code == 0:
                    self.error = ""
                if exit_code in {0, 3} or self._starts >= _MAX_STARTS:
                    return exit_code == 0
                if exit_code is None:  # it has timed out
                    return False
        finally:
            self.stop()

    def stop(self) -> None:
        """End it soon; a later one continues its work."""
        self._process.end(_STOP_SECONDS)

    def _finish(
        self, timeout_seconds: float, on_progress: Callable[[int, int], None], deadline: float
    ) -> str:
        """Send the timeout, pass on the progress, and return why records are left."""
        done = error = ""
        silence = 1.25 * timeout_seconds + _STOP_SECONDS
        try:
            self._process.send(Finish(timeout_seconds=timeout_seconds))
            while True:
                line = self._process.receive(silence, deadline - time.monotonic())
                report = RecorderReport.model_validate_json(line)
                error = report.error
                if not error:
                    num_done, num_left = report.num_done, report.num_left
                    done = f", with {num_done} of {num_left} recorded" if num_left else ""
                    on_progress(num_done, num_left)
        except ChildLostError:
            return error or f"the recorder ended, or the store was silent{done}"

    def _restart(self) -> None:
        self._process.end()
        self._process = self._start()

    def _start(self) -> ChildProcess:
        self._starts += 1
        self._started_at = time.monotonic()
        return ChildProcess(self._command, self._environment, self._log, _START_SECONDS)
