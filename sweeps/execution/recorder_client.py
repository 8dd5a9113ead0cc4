"""The driver's side of the recorder: start it, keep it alive, and let it finish."""

import os
import subprocess
import sys
from pathlib import Path

from sweeps.execution.recorder_process import TRACKING_URI_VARIABLE
from sweeps.locations import Storage

_MAX_STARTS = 5


class RecorderClient:
    """A recorder process that serves one driver. A driver's death ends it by itself."""

    def __init__(self, storage: Storage, tracking_uri: str, sweep: str) -> None:
        self._log: Path = storage.logs / f"recorder-{sweep}.log"
        self._command = [sys.executable, "-P", "-m", "sweeps.execution.recorder_process"]
        self._command += ["--storage", str(storage.root), "--sweep", sweep]
        self._environment = {**os.environ, TRACKING_URI_VARIABLE: tracking_uri}
        self._starts = 0
        self._process = self._start()

    @property
    def pid(self) -> int:
        """The recorder's process id."""
        return self._process.pid

    def keep_alive(self) -> None:
        """Start it again if it died; what it had carried is noted in its queue."""
        if self._process.poll() is not None and self._starts < _MAX_STARTS:
            self._process = self._start()

    def finish(self, wait_seconds: float) -> bool:
        """Let it carry the rest and end. Returns whether everything was carried."""
        self.keep_alive()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{wait_seconds}\n".encode())
            self._process.stdin.flush()
            return self._process.wait(1.25 * wait_seconds) == 0
        except (BrokenPipeError, subprocess.TimeoutExpired):
            return False
        finally:
            self.stop()

    def stop(self) -> None:
        """End it at once; a later one goes on where it was."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()

    def _start(self) -> "subprocess.Popen[bytes]":
        self._starts += 1
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=self._environment,
                start_new_session=True,  # a Ctrl-C at the terminal is the driver's alone
            )
