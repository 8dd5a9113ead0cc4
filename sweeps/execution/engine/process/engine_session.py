"""One life of the engine's process: its start, what it says, and whether it is still sound."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

import psutil
from pydantic import BaseModel

from sweeps.execution.engine.placement import Machine
from sweeps.execution.engine.process.channel import Channel
from sweeps.execution.engine.process.ended_group import end_group, is_alive
from sweeps.execution.engine.process.process_messages import (
    FROM_ENGINE,
    Begin,
    FromEngine,
    Print,
    Pulse,
    Ready,
    Refused,
)
from sweeps.records.errors import BadInput

LONGEST_SILENCE = 30  # seconds in which a living process would have said 30 words
LONGEST_START = 600  # seconds, likewise: on a busy machine Ray's own 30 are too few
MOST_MISSES = 3
_LEAVE_SECONDS = 20.0
_COMMAND = (sys.executable, "-P", "-m", "sweeps.execution.engine.tune.engine_process")


class EngineLostError(Exception):
    """The engine's process, or the Ray behind it, is gone or says nothing any more."""


class EngineSession:
    """The engine's process, from its start to its end.

    It leads a session of its own, so that a Ctrl-C at the terminal is the driver's alone, and all
    that it starts can be found and ended.

    Args:
        environment: Environment of the process.
        log: Takes all that it and Ray print.
        command: What is started; this process's number is added.

    Attributes:
        machines: What each machine has, once it is ready.
    """

    machines: Sequence[Machine] = ()

    def __init__(
        self, environment: dict[str, str], log: Path, command: Sequence[str] = _COMMAND
    ) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "ab") as output:
            self._process = subprocess.Popen(
                [*command, str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env=environment,
                start_new_session=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        reading, writing = self._process.stdout.fileno(), self._process.stdin.fileno()
        self._channel = Channel(reading, writing, patience_seconds=LONGEST_SILENCE)
        self._own = psutil.Process(self._process.pid)
        self._needed: list[psutil.Process] = []
        self._has_spoken = False

    def begin(self, address: str | None, scratch: Path, num_ready: int | None = None) -> None:
        """Have Ray started, or a cluster joined.

        Raises:
            EngineLostError: If the process has ended.
        """
        self.send(Begin(address=address, scratch=str(scratch), num_ready=num_ready))

    def wait(self, log: Path | None = None) -> None:
        """Wait until Ray is there.

        Args:
            log: Where the process prints from now on; None leaves it where it is.

        Raises:
            BadInput: If it cannot be.
            EngineLostError: If the process ends meanwhile, or takes too long.
        """
        if log:
            with suppress(BrokenPipeError, TimeoutError):  # what it has sent says why it is gone
                self._channel.send(Print(log=str(log)))
        answer = self.receive(LONGEST_START)
        if isinstance(answer, Refused):
            raise BadInput(answer.sentence)
        assert isinstance(answer, Ready)
        self.machines = answer.machines
        for number in answer.processes:
            with suppress(psutil.NoSuchProcess):  # then it is missed at once
                self._needed.append(psutil.Process(number))
        if len(self._needed) < len(answer.processes):
            raise EngineLostError("Ray ended while it was being started")

    def send(self, message: BaseModel) -> None:
        """Send a message.

        Raises:
            EngineLostError: If nobody takes it.
        """
        try:
            self._channel.send(message)
        except BrokenPipeError:
            raise self._ended() from None
        except TimeoutError:
            raise EngineLostError("its process takes no orders any more") from None

    def receive(self, most_seconds: int | None = None) -> FromEngine:
        """Return the next message that is no pulse; waits for it while the process is sound.

        Silence is counted in waits that were in vain, so that a driver that was stopped for a
        while does not take its own sleep for the other's. It counts from the first word on, as a
        busy machine takes long to load what speaks.

        Args:
            most_seconds: How long it may take, counted in pulses and waits; None for ever.

        Raises:
            EngineLostError: If it is not, or takes too long.
        """
        silence = 0
        for second in count():
            if second == most_seconds:
                raise EngineLostError(f"it was not ready after {most_seconds} seconds")
            self._refuse_missing()
            try:
                line = self._channel.receive(wait_seconds=1.0)
            except EOFError:
                raise self._ended() from None
            if line is None and not self._lives():  # what it has started may hold the pipe open
                raise self._ended()
            self._has_spoken = self._has_spoken or line is not None
            silence = 0 if line or not self._has_spoken else silence + 1
            if silence >= LONGEST_SILENCE:
                raise EngineLostError(f"its process has said nothing for {silence} seconds")
            message = FROM_ENGINE.validate_json(line) if line else None
            if not isinstance(message, Pulse | None):
                return message
            if message and message.num_misses >= MOST_MISSES:
                raise EngineLostError(f"Ray has not answered {message.num_misses} times in a row")
        raise AssertionError  # pragma: no cover

    def close(self) -> None:
        """Let the process leave Ray in order, and wait for it a while."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        deadline = time.monotonic() + _LEAVE_SECONDS
        while self._lives() and time.monotonic() < deadline:
            time.sleep(0.02)

    def end(self) -> None:
        """End the process and all that it has started, now. Repeating it does nothing."""
        if self._process.returncode is not None:  # its number may be another's by now
            return
        end_group(self._process.pid)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _lives(self) -> bool:
        """Return whether it does, and leave it to be waited for: its number stays its own."""
        return is_alive(self._own)

    def _refuse_missing(self) -> None:
        for process in self._needed:
            if not is_alive(process):
                raise EngineLostError("one of Ray's own processes ended")

    def _ended(self) -> EngineLostError:
        while self._lives():  # it has closed its end, which only its death does
            time.sleep(0.02)
        self.end()
        code = self._process.returncode
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        return EngineLostError(f"its process {how}")
