"""The recorder's process as its driver sees it: started, kept alive, and finished."""

import math
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path

from sweeps.execution.recorder.recorder_process import TRACKING_URI_VARIABLE
from sweeps.execution.worker.worker_process import without_token
from sweeps.storage.locations import Storage
from sweeps.storage.regular_files import open_regular

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
        if has_rested and self._starts < _MAX_STARTS and self._process.poll() is not None:
            self._restart()

    def finish(
        self,
        timeout_seconds: float,
        tell: Callable[[int, int], None] = ignore_progress,
        most_seconds: float = math.inf,
    ) -> bool:
        """Let it record the rest and end. Returns whether everything was recorded.

        It may take any time while it makes progress. It is restarted if it is killed meanwhile.

        Args:
            timeout_seconds: How long it may go without progress.
            tell: Called with how many trials are recorded, and of how many.
            most_seconds: How long it may take in all.
        """
        deadline = time.monotonic() + most_seconds
        self._starts = 0
        try:
            while True:
                if self._process.poll() is not None:
                    self._restart()
                self.error = self._last_word(timeout_seconds, tell, deadline)
                exit_code = self._process.poll()
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
        assert self._process.stdin is not None
        if not self._process.stdin.closed:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_SECONDS)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._close()

    def _last_word(
        self, timeout_seconds: float, tell: Callable[[int, int], None], deadline: float
    ) -> str:
        """Send the timeout, pass on the progress, and return why records are left."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has just died
            self._process.stdin.write(f"{timeout_seconds}\n".encode())
            self._process.stdin.flush()
        done = error = ""
        timeout = 1.25 * timeout_seconds + _STOP_SECONDS
        for line in self._lines(timeout, deadline):
            words = line.split()
            if len(words) == 2 and all(word.isdecimal() for word in words):
                done = f", with {words[0]} of {words[1]} recorded" if int(words[1]) else ""
                tell(int(words[0]), int(words[1]))
            else:
                error = line
        return error or f"the recorder ended, or the store was silent{done}"

    def _lines(self, timeout: float, deadline: float) -> Generator[str]:
        """Yield what it prints, until it ends, a timeout passes, or the deadline does."""
        assert self._process.stdout is not None
        descriptor, rest = self._process.stdout.fileno(), b""
        heard = max(time.monotonic(), self._started_at + _START_SECONDS)
        while (wait := min(heard + timeout, deadline) - time.monotonic()) > 0:
            if not select.select([descriptor], [], [], wait)[0]:
                continue
            data = os.read(descriptor, 65536)
            heard = time.monotonic()
            *lines, rest = (rest + data).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)
            if not data:
                yield from [rest.decode(errors="replace")] * bool(rest)
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout)
                return

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _restart(self) -> None:
        self._close()
        self._process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        self._starts += 1
        self._started_at = time.monotonic()
        self._log.parent.mkdir(parents=True, exist_ok=True)
        descriptor = open_regular(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with os.fdopen(descriptor, "ab") as log:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment,
                start_new_session=True,  # a Ctrl-C at the terminal is the driver's alone
            )
