"""Calls of the agent of another machine through the user's own ssh, and tunnels to its ports.

Host keys are checked as the user's ssh does; no option of ours touches that. What ssh wants to ask
it asks at the terminal; without one nothing is asked, so that nothing hangs.
"""

import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from base64 import b64decode
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from sweeps.execution.channel import Pulse
from sweeps.execution.child_process import ChildLostError, ChildProcess
from sweeps.records.errors import BadInput
from sweeps.records.plain_text import one_line, shortened, showable
from sweeps.remote.cluster_file import ClusterMachine
from sweeps.remote.messages import (
    MOST_BYTES,
    MOST_FILES,
    REPLY,
    Answer,
    Failed,
    Files,
    Frame,
    Reply,
    Text,
)
from sweeps.storage.folder import checked_name
from sweeps.tracking.validation import first_error

_SILENCE_SECONDS = 60.0  # the agent says every few seconds that it works
_TUNNEL_SECONDS = 30.0
_LONGEST_SENTENCE = 2_000
_LONGEST_NAME = 200  # of a file, in bytes
_LAST_BYTES = 10_000  # of what ssh has printed
_NO_COMMAND = 127
_SSH_FAILED = 255
_SSH = (
    "ssh",
    *("-o", "ConnectTimeout=15"),
    *("-o", "ServerAliveInterval=10"),
    *("-o", "ServerAliveCountMax=3"),
)
_START = """\
[ ! -f ~/capsweep-env.sh ] || . ~/capsweep-env.sh
PATH="$PATH:$HOME/venv/bin:"{bin}
exec capsweep-agent
"""
_Value = TypeVar("_Value", bound=BaseModel)


class MachineUnreachable(BadInput):
    """ssh does not reach a machine, or it does not answer."""


class Link:
    """A way to an agent: each call is a connection of its own.

    Args:
        command: Starts the agent, which speaks by its standard input and output.
        name: Of the machine, in sentences.
        ssh: Words that lead to the machine, without the command; none for this machine.
        environment: Added to that of this process.
    """

    def __init__(
        self,
        command: Sequence[str],
        name: str,
        ssh: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._command = command
        self.name = name
        self._ssh = ssh
        self._environment = environment or {}
        self._has_asked = False

    def call(
        self,
        request: BaseModel,
        value: type[_Value],
        on_reply: Callable[[Text | Frame], None] = lambda _: None,
    ) -> _Value:
        """Return the agent's answer to a request.

        Args:
            request: What is asked for.
            value: The class of the answer.
            on_reply: Takes what comes before it.

        Raises:
            BadInput: If it cannot be done, the machine cannot be reached, or has no agent.
        """
        try:
            with self.opened(request) as connection:
                return connection.answer(value, on_reply)
        except MachineUnreachable:
            if not self._ask_at_terminal():
                raise
        return self.call(request, value, on_reply)

    @contextmanager
    def opened(self, request: BaseModel) -> "Generator[_Connection]":
        """Yield the connection of a request, which lasts as long as the block.

        Raises:
            BadInput: As of `call`; also while its replies are read.
        """
        with tempfile.TemporaryDirectory(prefix="capsweep-") as folder:
            log = Path(folder) / "ssh.log"
            environment = {**os.environ, **self._environment}
            try:
                process = ChildProcess(self._command, environment, log)
            except FileNotFoundError as error:
                raise BadInput(
                    f"There is no '{error.filename}' here: install OpenSSH's client."
                ) from error
            try:
                yield _Connection(self, process, request, log)
            finally:
                process.end(leave_seconds=2.0)

    def _ask_at_terminal(self) -> bool:
        """Have ssh ask what it wants to know, once; return whether that was possible."""
        if self._has_asked or not self._ssh or not sys.stdin.isatty():
            return False
        self._has_asked = True
        return subprocess.run([*self._ssh, "true"], check=False).returncode == 0

    def failure(self, exit_code: int | None, printed: str) -> BadInput:
        """Return why a connection has ended without an answer.

        Args:
            exit_code: Of the command.
            printed: What it and the agent have printed.
        """
        lines = printed.strip().splitlines()
        last = one_line(lines[-1])[:300] if lines else "it has said nothing"
        if self._ssh and exit_code == _SSH_FAILED:
            by_hand = shlex.join(word for word in self._ssh if word not in _SSH)
            return MachineUnreachable(
                f"{self.name} cannot be reached by ssh: {last.rstrip('.')}. Make 'ssh {by_hand}' "
                f"work first."
            )
        if exit_code == _NO_COMMAND:
            return BadInput(
                f"capsweep is not installed on {self.name}, or another release of it: neither "
                f"in the PATH of its login shell nor in {_bin_folder()}. Install it there."
            )
        return BadInput(f"capsweep on {self.name} has ended without an answer: {last}")


class _Connection:
    """A connection with one request."""

    def __init__(self, link: Link, process: ChildProcess, request: BaseModel, log: Path) -> None:
        self._link = link
        self._process = process
        self._log = log
        self._lost: ChildLostError | None = None
        try:
            process.send(request)
        except ChildLostError as lost:  # which the first reply says
            self._lost = lost

    def answer(
        self, value: type[_Value], on_reply: Callable[[Text | Frame], None] = lambda _: None
    ) -> _Value:
        """Return the answer; what comes before it goes to `on_reply`.

        Raises:
            BadInput: If there is none.
        """
        while True:
            reply = self.reply()
            if isinstance(reply, Answer):
                return self._checked(reply.value, value)
            on_reply(reply)

    def _checked(self, answer: Mapping[str, Any], value: type[_Value]) -> _Value:
        """Return an answer as its class, if no text in it acts on a terminal or forges a line.

        Raises:
            BadInput: If one does, or the answer is not of that class.
        """
        if (odd := next(filter(_is_odd, _texts(answer)), None)) is not None:
            raise BadInput(
                f"{self._link.name} answers with a text that cannot be shown, and is not believed: "
                f"{odd[:100]!r}."
            )
        try:
            return value.model_validate(answer)
        except ValidationError as error:
            raise BadInput(
                f"{self._link.name} answers with what is no {value.__name__}, and is not believed: "
                f"{first_error(error)}."
            ) from None

    def reply(self) -> Text | Frame | Answer:
        """Return the next reply.

        Raises:
            BadInput: If there is none, or it says why something cannot be done.
        """
        while True:
            reply = _reply(self._line())
            if isinstance(reply, Failed):
                raise BadInput(shortened(reply.sentence, _LONGEST_SENTENCE))
            if reply is not None and not isinstance(reply, Pulse):
                return reply

    def _line(self) -> bytes:
        try:
            if self._lost:
                raise self._lost
            return self._process.receive(_SILENCE_SECONDS)
        except ChildLostError as lost:
            code = self._process.exit_code
            if code is None or code < 0:
                raise MachineUnreachable(f"{self._link.name} does not answer: {lost}.") from lost
            printed = _log_tail(self._log)
            raise self._link.failure(code, printed) from lost


def _texts(value: object) -> Generator[str]:
    """Yield the texts in what a machine answers."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in cast(Mapping[str, object], value).items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in cast(list[object], value):
            yield from _texts(inner)


def _is_odd(text: str) -> bool:
    return "\n" in text or showable(text) != text


def _log_tail(log: Path) -> str:
    with Path(log).open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _LAST_BYTES))
        return file.read().decode(errors="replace")


def _reply(line: bytes) -> Reply | None:
    """Return a reply, None for a line that a shell's profile has printed."""
    try:
        return REPLY.validate_json(line)
    except (ValidationError, RecursionError):
        return None


def decoded_files(sent: Files, machine: str) -> dict[str, bytes]:
    """Return the files that a machine has sent: name -> content.

    Raises:
        BadInput: If a name is none that can be shown, or they are too many or too large.
    """
    sizes = [len(content) for content in sent.files.values()]
    if len(sizes) > MOST_FILES or sum(sizes) > 4 * (MOST_BYTES // 3 + MOST_FILES):
        raise BadInput(
            f"{machine} sends {len(sizes):,} files of {sum(sizes):,} bytes, where {MOST_FILES:,} "
            f"files and {MOST_BYTES:,} bytes are allowed: nothing was written."
        )
    for name in sent.files:
        if one_line(checked_name(name)) != name or len(name.encode()) > _LONGEST_NAME:
            raise BadInput(
                f"{machine} sends a file with the name {name[:100]!r}, which no report has: "
                f"nothing was written."
            )
    try:
        return {name: b64decode(text, validate=True) for name, text in sent.files.items()}
    except ValueError:
        raise BadInput(
            f"{machine} sends a file that is not in base64: nothing was written."
        ) from None


def link_to(machine: ClusterMachine) -> Link:
    """Return the link to a machine through ssh."""
    script = _START.format(bin=shlex.quote(_bin_folder()))
    ssh = [*_SSH, *machine.ssh_options]
    command = [*ssh, "-T", "-o", "BatchMode=yes", machine.name, f"bash -lc {shlex.quote(script)}"]
    return Link(command, machine.name, [*ssh, machine.name])


def link_to_here(name: str) -> Link:
    """Return the link to an agent on this machine, which reaches a cluster by its dashboard.

    Args:
        name: Of the cluster, in sentences.
    """
    command = [sys.executable, "-m", "sweeps.remote.agent"]
    return Link(command, name, environment={"RAY_AUTH_MODE": "token"})


def _bin_folder() -> str:
    return str(Path(sys.executable).parent)


@contextmanager
def tunnel(machine: ClusterMachine, port: int) -> Generator[int]:
    """Yield a port here that leads to one on the loopback of a machine while the block runs.

    Raises:
        BadInput: If ssh cannot make it.
    """
    here = _free_port()
    forwarded = f"127.0.0.1:{here}:127.0.0.1:{port}"
    command = [*_SSH, *machine.ssh_options, "-N", "-T", "-o", "BatchMode=yes"]
    command += ["-o", "ExitOnForwardFailure=yes", "-L", forwarded, machine.name]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # a Ctrl-C is this process's alone
        )
        try:
            _wait_until_open(here, process, machine, log.fileno())
            yield here
        finally:
            process.terminate()
            process.wait()


def _wait_until_open(
    port: int, process: "subprocess.Popen[bytes]", machine: ClusterMachine, log: int
) -> None:
    deadline = time.monotonic() + _TUNNEL_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0):
            return
        time.sleep(0.05)
    lines = os.pread(log, 10_000, 0).decode(errors="replace").strip().splitlines()
    reason = one_line(lines[-1])[:300] if lines else "it has said nothing"
    raise BadInput(f"No tunnel to {machine.name} could be made by ssh: {reason}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]
