"""The driver's side of the recorder: start it, keep it alive, and let it finish."""

import math
import os
import select
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from sweeps.execution.recorder.calls import Answer, Call, Carry, Ended, Method, call, result_of
from sweeps.execution.recorder.distant_writer import DistantWriter
from sweeps.execution.recorder.recorder_session import RecorderSession
from sweeps.records.errors import StoreUnreachable
from sweeps.storage.locations import Storage

_MAX_STARTS = 5
_SECONDS_BETWEEN_STARTS = 5.0
_STOP_SECONDS = 2.0
_START_SECONDS = 60.0  # for its imports, on a busy machine
_CALL_SECONDS = 600.0
_LOOK_SECONDS = 0.5


def untold(num_done: int, num_left: int) -> None:
    """Where nobody wants to know how far the recorder is."""


class RecorderClient:
    """A recorder process that serves one driver. A driver's death ends it by itself.

    Args:
        storage: Whose cells are carried.
        tracking_uri: Where to.
        sweep: The driver's own.
        session: A process that is waiting to be told for whom it is; None starts one.

    Attributes:
        complaint: After `finish`, why records are left, in one line; "" where none are.
        writer: The store for the driver's own few records, which the process writes.
    """

    def __init__(
        self,
        storage: Storage,
        tracking_uri: str,
        sweep: str,
        session: RecorderSession | None = None,
    ) -> None:
        self.complaint = ""
        self.writer = DistantWriter(self.begin_call)
        self._whom = (storage.root, sweep, tracking_uri)
        self._log: Path = storage.logs / f"recorder-{sweep}.log"
        self._starts = 0
        self._num_calls = 0
        self._unanswered: dict[int, Call] = {}
        self._answers: dict[int, Answer] = {}
        self._carries = False
        self._exit_code: int | None = None
        self._session = self._start(session)

    @property
    def pid(self) -> int:
        """The recorder's process id."""
        return self._session.process.pid

    def open_writer(self) -> DistantWriter:
        """Open the store anew, which may have lost all.

        Raises:
            StoreUnreachable: If it does not answer.
        """
        self.writer.open_anew()
        return self.writer

    def carry(self) -> None:
        """Have what trials tell carried from now on."""
        self._tell()
        self._carries = True
        with suppress(BrokenPipeError):
            self._session.send(Carry())

    def keep_alive(self) -> None:
        """Start it again if it died; what it had carried is noted in its queue.

        Cheap enough for every turn of a loop. One that dies again and again is started five times
        at most, not at once each time.
        """
        has_rested = time.monotonic() > self._started_at + _SECONDS_BETWEEN_STARTS
        if has_rested and self._starts < _MAX_STARTS and self._session.has_ended:
            self._start_again()

    def finish(
        self,
        silence_seconds: float,
        tell: Callable[[int, int], None] = untold,
        most_seconds: float = math.inf,
    ) -> bool:
        """Let it carry the rest. Returns whether everything was carried.

        It may take as long as it moves. One that is killed meanwhile is started again. It goes on
        to take calls, unless it fell silent.

        Args:
            silence_seconds: That may pass without anything carried.
            tell: Told how many trials are carried, and of how many.
            most_seconds: That it may take in all.
        """
        deadline = time.monotonic() + most_seconds
        self._starts = 0
        if not self._carries:
            self.carry()
        is_silent = True
        try:
            while True:
                if self._has_ended():
                    self._start_again()
                self.complaint = self._last_word(silence_seconds, tell, deadline)
                exit_code = self._exit_code
                if exit_code == 0:
                    self.complaint = ""
                is_silent = exit_code is None
                if exit_code in {0, 3} or self._starts >= _MAX_STARTS:
                    return exit_code == 0
                if is_silent:
                    return False
        finally:
            if is_silent:
                self.stop()

    def stop(self) -> None:
        """End it soon; a later one goes on where it was."""
        self._session.end()

    def _last_word(
        self, silence_seconds: float, tell: Callable[[int, int], None], deadline: float
    ) -> str:
        """Say how long it may be silent, hear how far it is, and return why records are left."""
        stdin = self._session.process.stdin
        assert stdin is not None
        with suppress(BrokenPipeError):  # it has just died
            stdin.write(f"{silence_seconds}\n".encode())
            stdin.flush()
        done = complaint = ""
        patience = 1.25 * silence_seconds + _STOP_SECONDS
        for line in self._lines(patience, deadline):
            words = line.split()
            if len(words) == 2 and all(word.isdecimal() for word in words):
                done = f", with {words[0]} of {words[1]} recorded" if int(words[1]) else ""
                tell(int(words[0]), int(words[1]))
            else:
                complaint = line
        return complaint or f"the recorder ended, or the store was silent{done}"

    def _lines(self, patience: float, deadline: float) -> Generator[str]:
        """Yield what it prints, until it ends, is silent for too long, or time is up."""
        stdout = self._session.process.stdout
        assert stdout is not None
        descriptor, rest = stdout.fileno(), b""
        heard = max(time.monotonic(), self._started_at + _START_SECONDS)
        while (wait := min(heard + patience, deadline) - time.monotonic()) > 0:
            if not select.select([descriptor], [], [], wait)[0]:
                continue
            data = os.read(descriptor, 65536)
            heard = time.monotonic()
            *lines, rest = (rest + data).split(b"\n")
            yield from (line.decode(errors="replace") for line in lines)
            if not data:
                yield from [rest.decode(errors="replace")] * bool(rest)
                self._await_end(patience)
                return

    def _await_end(self, patience: float) -> None:
        """Hear how carrying has ended: from the process, which may live on, or by its end."""
        waited = 0.0
        while self._exit_code is None and waited < patience:
            try:
                waited += 0.0 if self._hear(_LOOK_SECONDS) else _LOOK_SECONDS
            except EOFError:
                with suppress(subprocess.TimeoutExpired):
                    self._exit_code = self._session.process.wait(patience)
                return

    def _has_ended(self) -> bool:
        """Return whether it carries nothing any more."""
        return self._exit_code is not None or self._session.has_ended

    def begin_call(
        self, method: Method, arguments: tuple[Any, ...], *, is_anew: bool = False
    ) -> Callable[[], Any]:
        """Have the process call a method, and return what waits for the result.

        A process that dies is started again, and asked again. What waits raises `StoreUnreachable`
        if it says nothing for very long, or dies again and again, and what the method has raised.
        """
        self._tell()
        self._num_calls += 1
        number = self._num_calls
        self._unanswered[number] = call(number, method, arguments, is_anew=is_anew)
        with suppress(BrokenPipeError):  # it is asked again
            self._session.send(self._unanswered[number])
        answer = cache(lambda: self._answer(number))
        return lambda: result_of(method, answer())

    def _answer(self, number: int) -> Answer:
        """Wait for the answer to a call."""
        waited, num_deaths = 0.0, 0
        while number not in self._answers:
            try:
                is_silent = not self._hear(_LOOK_SECONDS)
            except EOFError:
                num_deaths += 1
                if num_deaths == _MAX_STARTS:
                    raise self._silence(f"ended {num_deaths} times in a row") from None
                self._start_again()
                continue
            waited = waited + _LOOK_SECONDS if is_silent else 0.0
            if waited >= _CALL_SECONDS:
                self._session.process.kill()
                raise self._silence(f"has said nothing for {waited:.0f} seconds")
        return self._answers.pop(number)

    def _silence(self, what: str) -> StoreUnreachable:
        return StoreUnreachable(f"What writes to the tracking store {what}: see {self._log}.")

    def _hear(self, wait_seconds: float) -> bool:
        """Hear what the process says next. Returns whether it has said anything in this time.

        Raises:
            EOFError: If it has ended.
        """
        message = self._session.receive(wait_seconds)
        if isinstance(message, Ended):
            self._exit_code = message.exit_code
        elif message and self._unanswered.pop(message.number, None):
            self._answers[message.number] = message
        return message is not None

    def _start_again(self) -> None:
        self._session.end()
        self._session = self._start(None)

    def _tell(self) -> None:
        """Tell the process for whom it is, unless it knows."""
        if not self._is_told:
            self._is_told = True
            self._session.serve(*self._whom, self._log)

    def _start(self, session: RecorderSession | None) -> RecorderSession:
        self._starts += 1
        self._started_at = time.monotonic()
        self._exit_code = None
        self._is_told = False
        if session:  # which is told once it is needed: nothing is written before
            return session
        self._session = session = RecorderSession(self._log)
        self._tell()
        with suppress(BrokenPipeError):
            for unanswered in self._unanswered.values():
                session.send(unanswered)
            if self._carries:
                session.send(Carry())
        return session
