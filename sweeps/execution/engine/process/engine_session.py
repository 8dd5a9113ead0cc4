"""One engine's process: its start, its messages, and whether its Ray works."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from sweeps.execution.child_process import ChildLostError, ChildProcess, is_alive
from sweeps.execution.engine.placement import Machine
from sweeps.execution.engine.process.process_messages import (
    FROM_ENGINE,
    Begin,
    EnginePulse,
    FromEngine,
    Print,
    Ready,
    Refused,
)
from sweeps.records.errors import BadInput

LONGEST_SILENCE = 30  # seconds, in which a living process sends 30 pulses
LONGEST_START = 600  # seconds: on a busy machine Ray's own 30 are too few
MOST_MISSES = 3
_COMMAND = (sys.executable, "-P", "-m", "sweeps.execution.engine.tune.engine_process")


class EngineSession(ChildProcess):
    """The engine's process, from its start to its end.

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
        super().__init__([*command, str(os.getpid())], environment, log, LONGEST_START)
        self._needed: list[psutil.Process] = []

    def begin(self, address: str | None, scratch: Path, num_ready: int | None = None) -> None:
        """Start Ray, or join a cluster.

        Raises:
            ChildLostError: If the process has ended.
        """
        self.send(Begin(address=address, scratch=str(scratch), num_ready=num_ready))

    def wait(self, log: Path | None = None) -> None:
        """Wait until Ray runs.

        Args:
            log: Where the process prints from now on; None leaves it where it is.

        Raises:
            BadInput: If it cannot run.
            ChildLostError: If the process ends meanwhile, or takes too long.
        """
        if log:
            with suppress(BrokenPipeError, TimeoutError):  # what it has sent says why it is gone
                self._channel.send(Print(log=str(log)))
        for _ in range(LONGEST_START):  # a pulse a second: a driver that was stopped counts none
            answer = self._message()
            if not isinstance(answer, EnginePulse):
                break
        else:
            raise ChildLostError(f"it was not ready after {LONGEST_START} seconds")
        if isinstance(answer, Refused):
            raise BadInput(answer.sentence)
        assert isinstance(answer, Ready)
        self.machines = answer.machines
        for number in answer.processes:
            with suppress(psutil.NoSuchProcess):  # then it is missed at once
                self._needed.append(psutil.Process(number))
        if len(self._needed) < len(answer.processes):
            raise ChildLostError("Ray ended while it was being started")

    def receive_message(self) -> FromEngine:
        """Return the next message that is no pulse; wait for it while the process works.

        Raises:
            ChildLostError: If it does not.
        """
        while isinstance(message := self._message(), EnginePulse):
            if message.num_misses >= MOST_MISSES:
                raise ChildLostError(f"Ray has not answered {message.num_misses} times in a row")
        return message

    def check(self) -> None:
        """Raise `ChildLostError` if one of Ray's processes that were started here has ended."""
        for process in self._needed:
            if not is_alive(process):
                raise ChildLostError("one of Ray's own processes ended")

    def _message(self) -> FromEngine:
        return FROM_ENGINE.validate_json(self.receive(LONGEST_SILENCE))
