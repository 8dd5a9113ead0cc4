"""The driver's side of the process that makes evaluations."""

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from sweeps.execution.worker.evaluation import EvaluationJob
from sweeps.execution.worker.evaluation_process import DONE
from sweeps.execution.worker.worker_process import without_token
from sweeps.records.plain_text import one_line
from sweeps.storage.regular_files import open_regular

_STOP_SECONDS = 2.0


class EvaluationWorker:
    """One process that makes evaluations, started when it is needed, and again after one raised.

    Args:
        log: Where it prints.
        threads: What torch is given.
    """

    def __init__(self, log: Path, threads: int) -> None:
        self.log = log
        self._command = [sys.executable, "-P", "-m", "sweeps.execution.worker.evaluation_process"]
        self._command += ["--threads", str(threads), "--parent", str(os.getpid())]
        self._process: subprocess.Popen[bytes] | None = None

    def make(self, order: EvaluationJob) -> str:
        """Have a trial's evaluations made, and wait. Returns why one was not, "" if all were."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        descriptor = open_regular(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with os.fdopen(descriptor, "ab") as log:
            start = log.tell()
            process = self._process = self._process or self._start(log.fileno())
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(order.model_dump_json().encode() + b"\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:  # it died before it could read
            answer = b""
        if answer.decode().strip() == DONE:
            return ""
        self._stop()
        return self._last_line(start) or f"its process ended with code {process.returncode}"

    def __enter__(self) -> Self:
        """Start nothing yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process, whatever it is doing."""
        if kind is not None and self._process:
            self._process.kill()
        self._stop()

    def _start(self, log: int) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=without_token(),
            start_new_session=True,  # a Ctrl-C at the terminal is the driver's alone
        )

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _last_line(self, start: int) -> str:
        """Return the last line that was printed after a place: of a traceback, the error."""
        with self.log.open("rb") as file:
            file.seek(start)
            lines = file.read().decode(errors="replace").strip().splitlines()
        return one_line(lines[-1])[:500] if lines else ""
