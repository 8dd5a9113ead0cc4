"""Messages between two processes, each a line of JSON, through a pipe there and a pipe back."""

import os
import select
import threading
from collections import deque
from typing import Literal

from pydantic import BaseModel, ConfigDict

_CHUNK = 1 << 16
_LONGEST_LINE = 2**28  # in bytes: a report of many pictures is one


class Message(BaseModel):
    """What one process sends to another."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Pulse(Message):
    """The process at the other end works."""

    type: Literal["pulse"] = "pulse"


class Channel:
    """One end.

    Args:
        reading: Descriptor that the other end's lines come from.
        writing: Descriptor that takes lines for it.
        patience_seconds: How long the other end may take to make room for a line; None is for ever.
    """

    def __init__(self, reading: int, writing: int, patience_seconds: float | None = None) -> None:
        self._reading = reading
        self._writing = writing
        self._patience = patience_seconds
        self._lock = threading.Lock()
        self._lines = deque[bytes]()
        self._rest = bytearray()
        os.set_blocking(writing, False)

    def send(self, message: BaseModel) -> None:
        """Send a message; several threads may.

        Raises:
            BrokenPipeError: If the other end is gone.
            TimeoutError: If it takes nothing any more.
        """
        data = memoryview(message.model_dump_json().encode() + b"\n")
        with self._lock:
            while data:
                if not _is_ready(self._writing, select.POLLOUT, self._patience):
                    raise TimeoutError("the other end takes no message")
                data = data[os.write(self._writing, data[:_CHUNK]) :]

    def receive(self, wait_seconds: float | None = None) -> bytes | None:
        """Return the next line, or None on timeout. `wait_seconds=None` waits forever.

        Raises:
            EOFError: If the other end is gone, or sends a line without an end.
        """
        while not self._lines:
            if not self.is_readable(wait_seconds):
                return None
            data = os.read(self._reading, _CHUNK)
            if not data:
                raise EOFError
            if len(self._rest) > _LONGEST_LINE:
                raise EOFError(f"sends a line of more than {_LONGEST_LINE:,} bytes")
            first, *others = data.split(b"\n")
            self._rest += first
            for line in others:
                self._lines.append(bytes(self._rest))
                self._rest = bytearray(line)
        return self._lines.popleft()

    def is_readable(self, wait_seconds: float | None) -> bool:
        """Return whether the other end has sent a message in time, or has closed."""
        return bool(self._lines) or _is_ready(self._reading, select.POLLIN, wait_seconds)


def channel_to_parent() -> Channel:
    """Return a channel on descriptors 0 and 1; prints go to descriptor 2 from now on."""
    reading, writing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return Channel(reading, writing)


def _is_ready(descriptor: int, event: int, wait_seconds: float | None) -> bool:
    poll = select.poll()
    poll.register(descriptor, event)
    return bool(poll.poll(None if wait_seconds is None else 1000 * wait_seconds))
