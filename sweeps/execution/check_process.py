"""The check of a sweep in a process of its own, which code of the user's may end or crash."""

import json
import os
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from types import TracebackType
from typing import Any, Literal, Self

from pydantic import TypeAdapter

from search_spaces.neighbours import neighbours_in, sendable_text
from search_spaces.user_code import UserLine
from sweeps.execution.channel import Channel, Message
from sweeps.execution.garbage import collect_seldom
from sweeps.execution.last_line import ask, end_text, last_line, trace_end

_SILENT_SECONDS = 60
_ANSWER_SECONDS = 1.0


class Trying(Message):
    """Something is tried from now on."""

    type: Literal["trying"] = "trying"
    subject: str


class Works(Message):
    """Something works.

    Attributes:
        result: In words.
        seconds: How long it took.
    """

    type: Literal["works"] = "works"
    result: str
    seconds: float


class Fails(Message):
    """Something does not work.

    Attributes:
        sentence: Why.
        excerpt: The user's line and those around it, "" if it was none of theirs.
    """

    type: Literal["fails"] = "fails"
    sentence: str
    excerpt: str = ""


class Refused(Message):
    """The sweep cannot be loaded, or its plan fails. Nothing else is tried.

    Attributes:
        sentence: Why.
        excerpt: As in `Fails`.
    """

    type: Literal["refused"] = "refused"
    sentence: str
    excerpt: str = ""


class Remark(Message):
    """A sentence about the sweep, or about what is tried."""

    type: Literal["remark"] = "remark"
    sentence: str


class Warned(Message):
    """A warning that the user's code caused."""

    type: Literal["warned"] = "warned"
    sentence: str


class AllTried(Message):
    """Nothing is left to be tried."""

    type: Literal["all tried"] = "all tried"


Report = Works | Fails | Refused | Remark | Warned
_MESSAGES = TypeAdapter[Trying | Report | AllTried](Trying | Report | AllTried)


class CheckProcess:
    """The process of one check. Leaving its block ends it.

    It shares the terminal, so that `print` and `breakpoint` in a part work.

    Args:
        sweep: The sweep's name, or the path of its file.
        settings: Path -> value, changes of the sweep's base.
    """

    def __init__(self, sweep: str, settings: Mapping[str, Any] | None) -> None:
        self._sweep = sweep
        self._subject = f"The sweep '{sweep}'"
        self._trace = TemporaryFile()  # noqa: SIM115 - closed by `__exit__`
        self._folder = TemporaryDirectory(prefix="capsweep-", ignore_cleanup_errors=True)
        self._socket, theirs = socket.socketpair()
        with theirs:
            descriptors = theirs.fileno(), self._trace.fileno()
            numbers = map(str, (*descriptors, os.getpid()))
            arguments = [sweep, json.dumps(settings), self._folder.name, *numbers]
            self._process = start(arguments, descriptors)
        self._channel = Channel(self._socket.fileno(), self._socket.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._socket.close()
        self._trace.close()
        self._folder.cleanup()

    def reports(self) -> Iterator[Report]:
        """Yield what works and what does not, until all was tried or the process has ended."""
        num_silent = 0  # waits of a second in vain, for what is tried now
        while line := self._line():
            message = _MESSAGES.validate_json(line) if line != _NOTHING_YET else None
            num_silent = 0 if message else num_silent + 1
            if isinstance(message, AllTried):
                return
            if isinstance(message, Trying):
                self._subject = message.subject
            elif message:
                yield message
                if isinstance(message, Refused):
                    return
            elif num_silent % _SILENT_SECONDS == 0:
                yield self._silence(num_silent)
        yield self._lost()

    def _line(self) -> bytes:
        """Return the next line, or that there is none yet; b"" once the process has ended."""
        try:
            line = self._channel.receive(_ANSWER_SECONDS)
        except (EOFError, ConnectionError):
            return b""
        if line is None:  # a process that the user's code has forked may keep the socket open
            return _NOTHING_YET if self._process.poll() is None else b""
        return line

    def _silence(self, seconds: int) -> Remark:
        ask(self._process.pid)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ANSWER_SECONDS)
        place = f": it is at {line}" if (line := self._last_line()) else ""
        return Remark(
            sentence=f"{self._subject} has been tried for {seconds} s{place}. "
            f"Ctrl-C ends the check."
        )

    def _lost(self) -> Fails:
        how, line = end_text(self._process.wait()), self._last_line()
        place = f" ({line.file}, line {line.number})" if line else ""
        return Fails(
            sentence=f"{self._subject} cannot be checked: its process {how}{place}. Code of a "
            f"sweep may return or raise, not end its process. What comes after it was not tried.",
            excerpt=line.excerpt() if line else "",
        )

    def _last_line(self) -> UserLine | None:
        files = [self._sweep]
        with suppress(ValueError):  # of a named sweep, or a file that was edited meanwhile
            path = Path(self._sweep)
            files += [str(path.parent / name) for name in neighbours_in(sendable_text(path)).files]
        self._trace.seek(0)
        return last_line(self._trace.read().decode(errors="replace"), files)


_NOTHING_YET = b"nothing yet"


def start(arguments: list[str], descriptors: tuple[int, ...]) -> subprocess.Popen[bytes]:
    """Start the process of a check.

    Args:
        arguments: Those of `main`.
        descriptors: Open files that it inherits.
    """
    command = [sys.executable, "-P", "-m", "sweeps.execution.check_process", *arguments]
    return subprocess.Popen(command, pass_fds=descriptors)


def main(arguments: list[str]) -> int:
    """Try a sweep and send what works and what does not.

    Args:
        arguments: The sweep, changes of its base as JSON, an empty folder, descriptors of the
            socket and of the file for stacks, and the id of the process that waits.
    """
    sweep, settings, folder, channel, trace, parent = arguments
    from sweeps.execution.worker.worker_process import die_with_parent

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a KeyboardInterrupt is the user's code's own
    trace_end(int(trace))
    die_with_parent(int(parent))
    collect_seldom()
    _send_all(sweep, json.loads(settings), folder, Channel(int(channel), int(channel)))
    return 0


def _send_all(
    sweep: str, settings: Mapping[str, Any] | None, folder: str, channel: Channel
) -> None:
    from sweeps.execution.plan.changes import Changes
    from sweeps.execution.plan.definition import declared_sweep
    from sweeps.execution.survey.checked_speeds import remember_speed
    from sweeps.execution.sweep_check import (
        CheckFailed,
        Timed,
        Tried,
        check_import,
        check_sweep,
        loaded_sweep,
    )
    from sweeps.execution.worker.worker_process import enter_trial_folder

    def warn(
        message: Warning | str, category: type[Warning], file: str, line: int, *_: Any
    ) -> None:
        channel.send(Warned(sentence=f"{file}, line {line}: {category.__name__}: {message}"))

    warnings.showwarning = warn
    try:
        loaded = loaded_sweep(sweep, Changes(settings=settings))
        source = declared_sweep(sweep).source
        enter_trial_folder(folder)
        check_import(source)
    except CheckFailed as failed:
        channel.send(Refused(sentence=str(failed), excerpt=failed.excerpt))
        return
    for result in check_sweep(loaded, times=True):
        if isinstance(result, CheckFailed):
            channel.send(Fails(sentence=str(result), excerpt=result.excerpt))
        elif isinstance(result, Tried):
            channel.send(Works(result=result.what, seconds=result.seconds))
        elif isinstance(result, Timed):
            remember_speed(result.config, result.seconds_per_epoch)
        else:
            channel.send(Trying(subject=result.subject))
    _end(source, channel)


def _end(source: str | None, channel: Channel) -> None:
    """Send the remarks on a sweep's file, and that all was tried."""
    for sentence in _remarks(source):
        channel.send(Remark(sentence=sentence))
    channel.send(AllTried())


def _remarks(source: str | None) -> Iterator[str]:
    """Say which files travel with a sweep's, and what no trial key covers."""
    from search_spaces.sweep_file import code_outside
    from sweeps.records.plain_text import not_covered_text

    if travelling := neighbours_in(source or "").sentence:
        yield travelling
    yield from not_covered_text(tuple(code_outside(source).not_covered))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
