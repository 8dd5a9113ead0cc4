"""A process that is started here, exchanges messages, is watched, and ended with all it started."""

import math
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
from pydantic import BaseModel

from sweeps.execution.channel import Channel
from sweeps.storage.folder import in_storage

_SEND_SECONDS = 30.0  # that a message may wait for room in the pipe
_END_SECONDS = 10.0
_POLL_SECONDS = 0.02


class ChildLostError(Exception):
    """A process that was started here, or what it runs, is gone or says nothing any more."""


class ChildProcess:
    """A child that sends and receives lines of JSON.

    It leads a session of its own. So a Ctrl-C at the terminal reaches this process alone, and all
    that the child starts can be found and ended.

    Args:
        command: What is started.
        environment: Its environment.
        log: Takes all that it prints.
        start_seconds: How long it may take until its first message: a busy machine takes long to
            load the program.

    Attributes:
        pid: Its process id.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        start_seconds: float = math.inf,
    ) -> None:
        with os.fdopen(in_storage(log.parent).make().append(log.name), "ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env=environment,
                start_new_session=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._pipes = (self._process.stdin, self._process.stdout)
        reading, writing = self._process.stdout.fileno(), self._process.stdin.fileno()
        self._channel = Channel(reading, writing, _SEND_SECONDS)
        self.pid = self._process.pid
        self._own = psutil.Process(self.pid)
        self._first_message_by = time.monotonic() + start_seconds
        self._has_sent = False

    @property
    def is_alive(self) -> bool:
        """Whether it runs. It is left to be waited for by `end`, so that its id stays its own."""
        return is_alive(self._own)

    @property
    def exit_code(self) -> int | None:
        """Its exit code once it was ended here or found ended; minus the signal that killed it."""
        return self._process.returncode

    def send(self, message: BaseModel) -> None:
        """Send a message.

        Raises:
            ChildLostError: If nobody takes it.
        """
        try:
            self._channel.send(message)
        except BrokenPipeError:
            raise self._ended() from None
        except TimeoutError:
            raise ChildLostError("its process takes no messages any more") from None

    def receive(self, longest_silence: float, most_seconds: float = math.inf) -> bytes:
        """Return its next line.

        Silence is counted in waits that were in vain, so that a process that was stopped for a
        while does not take its own sleep for the child's.

        Args:
            longest_silence: Seconds that it may take, more until its first message.
            most_seconds: Seconds that it may take in any case.

        Raises:
            ChildLostError: If it has ended, or takes longer.
        """
        start_seconds = 0.0 if self._has_sent else self._first_message_by - time.monotonic()
        patience = remaining = min(max(longest_silence, start_seconds), most_seconds)
        while remaining > 0:
            self.check()
            try:
                line = self._channel.receive(min(remaining, 1.0))
            except EOFError as error:
                raise self._ended(str(error)) from None
            if line is not None:
                self._has_sent = True
                return line
            if not self.is_alive:  # what it has started may keep the pipe open
                raise self._ended()
            remaining -= 1.0
        raise ChildLostError(f"its process has said nothing for {patience:.0f} seconds")

    def check(self) -> None:
        """Raise `ChildLostError` if what it runs is lost; called each second of a wait."""

    def end(self, leave_seconds: float = 0.0) -> None:
        """End it and all that it has started. Repeating it does nothing.

        Args:
            leave_seconds: How long it may take to exit by itself. The end of its input asks it to.
        """
        if self.exit_code is not None:  # its id may be another's by now
            return
        if leave_seconds:
            with suppress(BrokenPipeError):
                self._pipes[0].close()
            deadline = time.monotonic() + leave_seconds
            while self.is_alive and time.monotonic() < deadline:
                time.sleep(_POLL_SECONDS)
        _end_session(self.pid)
        self._process.wait()
        for pipe in self._pipes:
            with suppress(BrokenPipeError):
                pipe.close()

    def _ended(self, fault: str = "") -> ChildLostError:
        """End what is left of it, and return how it ended.

        Args:
            fault: What it did wrong; "" where it closed its end of the pipe, as it is dead.
        """
        self.end(leave_seconds=0.0 if fault else _END_SECONDS)
        if fault:
            return ChildLostError(f"its process {fault}")
        code = self._process.returncode
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        return ChildLostError(f"its process {how}")


def is_alive(process: psutil.Process) -> bool:
    """Return whether a process runs, or could."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _end_session(leader: int) -> None:
    """Kill a process and those of its session, and wait until none of them runs.

    Checkpoints are atomic, so nothing is lost by it; a stopped process is killed too. A zombie
    counts as ended: init may take seconds to collect it.

    Args:
        leader: A process that leads a session of its own.
    """
    killed: list[psutil.Process] = []
    while family := [process for process in _family(leader) if process not in killed]:
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        killed += family  # those that were being started meanwhile are seen in the next round
    deadline = time.monotonic() + _END_SECONDS
    while any(map(is_alive, killed)) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS / 4)


def _family(leader: int) -> list[psutil.Process]:
    """Return the living processes of a session, and their children of other sessions."""
    family: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        if _is_in_session(process, leader):
            family[process.pid] = process
            with suppress(psutil.Error):
                family |= {child.pid: child for child in process.children(recursive=True)}
    return [process for process in family.values() if is_alive(process)]


def _is_in_session(process: psutil.Process, leader: int) -> bool:
    try:
        return os.getsid(process.pid) == leader
    except OSError:
        return False
