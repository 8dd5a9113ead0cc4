"""One life of the recorder's process, as the driver has it."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel

from sweeps.execution.channel import Channel
from sweeps.execution.recorder.calls import FROM_RECORDER, Answer, Ended, Serve
from sweeps.execution.worker.own_environment import without_token
from sweeps.storage.regular_files import open_regular

_STOP_SECONDS = 2.0
_TAKE_SECONDS = 600.0


class RecorderSession:
    """A process that loads what writes to a store, and then waits to be told for whom.

    It leads a session of its own: a Ctrl-C at the terminal is the driver's alone. A driver's death
    ends it by itself.

    Args:
        log: Takes what it prints; None drops that until it is told of one.

    Attributes:
        process: Its standard input takes how long the store may be silent, its output tells how far
            it is.
    """

    def __init__(self, log: Path | None = None) -> None:
        calls, writing = os.pipe()
        reading, answers = os.pipe()
        theirs = (calls, answers)
        command = [sys.executable, "-P", "-m", "sweeps.execution.recorder.main"]
        output = subprocess.DEVNULL if log is None else _appending(log)
        try:
            self.process = subprocess.Popen(
                [*command, *map(str, theirs)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env=without_token(),
                start_new_session=True,
                pass_fds=theirs,
            )
        finally:
            for descriptor in (*theirs, *([] if log is None else [output])):
                os.close(descriptor)
        self._descriptors: tuple[int, ...] = (reading, writing)
        self._channel = Channel(reading, writing, patience_seconds=_TAKE_SECONDS)
        self._is_told = False

    @property
    def has_ended(self) -> bool:
        """Whether the process is dead."""
        return self.process.poll() is not None

    def serve(self, storage: Path, sweep: str, tracking_uri: str, log: Path) -> None:
        """Say whom it is for."""
        self._is_told = True
        with suppress(BrokenPipeError):  # it has died, which is seen where it is needed
            self.send(
                Serve(storage=str(storage), sweep=sweep, tracking_uri=tracking_uri, log=str(log))
            )

    def send(self, message: BaseModel) -> None:
        """Send a message.

        Raises:
            BrokenPipeError: If the process has ended, or has taken nothing for so long that it is
                ended.
        """
        if not self._descriptors:
            raise BrokenPipeError
        try:
            self._channel.send(message)
        except TimeoutError:
            self.process.kill()
            raise BrokenPipeError from None

    def receive(self, wait_seconds: float) -> Answer | Ended | None:
        """Return what it says next, None where that is nothing in this time.

        Raises:
            EOFError: If the process has ended.
        """
        if not self._descriptors:
            raise EOFError
        line = self._channel.receive(wait_seconds)
        return FROM_RECORDER.validate_json(line) if line else None

    def end(self) -> None:
        """Let it end soon, or end it; a later one goes on where it was."""
        self.close()
        if self._is_told:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_STOP_SECONDS)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def close(self) -> None:
        """Say nothing any more, and hear nothing, like a driver that is gone."""
        descriptors, self._descriptors = self._descriptors, ()
        for descriptor in descriptors:
            os.close(descriptor)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                with suppress(BrokenPipeError):
                    pipe.close()


def _appending(log: Path) -> int:
    log.parent.mkdir(parents=True, exist_ok=True)
    return open_regular(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
