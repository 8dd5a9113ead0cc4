"""The driver's side of the recorder: start it, keep it alive, and let it finish."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from sweeps.execution.recorder.process import TRACKING_URI_VARIABLE
from sweeps.storage.locations import Storage

_MAX_STARTS = 5
_SECONDS_BETWEEN_STARTS = 5.0
_STOP_SECONDS = 2.0


class RecorderClient:
    """A recorder process that serves one driver. A driver's death ends it by itself.

    Attributes:
        complaint: After `finish`, what the store has refused, in one line; "" where nothing, or
            where it did not answer.
    """

    def __init__(self, storage: Storage, tracking_uri: str, sweep: str) -> None:
        self.complaint = ""
        self._log: Path = storage.logs / f"recorder-{sweep}.log"
        self._command = [sys.executable, "-P", "-m", "sweeps.execution.recorder.process"]
        self._command += ["--storage", str(storage.root), "--sweep", sweep]
        self._environment = {**os.environ, TRACKING_URI_VARIABLE: tracking_uri}
        self._starts = 0
        self._process = self._start()

    @property
    def pid(self) -> int:
        """The recorder's process id."""
        return self._process.pid

    def keep_alive(self) -> None:
        """Start it again if it died; what it had carried is noted in its queue.

        Cheap enough for every turn of a loop. One that dies again and again is started five times
        at most, not at once each time.
        """
        has_rested = time.monotonic() > self._started_at + _SECONDS_BETWEEN_STARTS
        if has_rested and self._starts < _MAX_STARTS and self._process.poll() is not None:
            self._close()
            self._process = self._start()

    def finish(self, wait_seconds: float) -> bool:
        """Let it carry the rest and end. Returns whether everything was carried."""
        if self._process.poll() is not None:
            self._close()
            self._process = self._start()
        word = f"{wait_seconds}\n".encode()
        try:
            told, _ = self._process.communicate(word, 1.25 * wait_seconds + _STOP_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        else:
            self.complaint = told.decode(errors="replace").strip()
            return self._process.returncode == 0
        finally:
            self.stop()

    def stop(self) -> None:
        """End it soon; a later one goes on where it was."""
        assert self._process.stdin is not None
        if not self._process.stdin.closed:
            self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_SECONDS)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._close()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()

    def _start(self) -> "subprocess.Popen[bytes]":
        self._starts += 1
        self._started_at = time.monotonic()
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment,
                start_new_session=True,  # a Ctrl-C at the terminal is the driver's alone
            )
