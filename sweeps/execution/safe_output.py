"""Standard output that nobody may be reading: what cannot be written is dropped.

A launch works for hours, whatever becomes of the pipe or the disk that its words go to.
"""

import errno
import os
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast


class SafeOutput:
    """A text stream that drops what it cannot write, with all other methods of the stream.

    Attributes:
        error: Why it drops; None while everything was written.
    """

    def __init__(self, stream: TextIO) -> None:
        self.error: OSError | ValueError | None = None
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        """Return what the stream has."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, or drop it; return its length in both cases."""
        if self.error is None:
            try:
                self._stream.write(text)
            except UnicodeEncodeError as error:  # of a stream that knows fewer letters
                encoded = text.encode(error.encoding, "backslashreplace")
                return self.write(encoded.decode(error.encoding))
            except (OSError, ValueError) as error:
                self._give_up(error)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write some texts, or drop them."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write what waits in memory, or drop it."""
        if self.error is None:
            try:
                self._stream.flush()
            except (OSError, ValueError) as error:
                self._give_up(error)

    @property
    def is_unread(self) -> bool:
        """Whether somebody has closed the pipe, as `head` does once it has its lines."""
        return isinstance(self.error, OSError) and self.error.errno == errno.EPIPE

    def _give_up(self, error: OSError | ValueError) -> None:
        self.error = error
        with suppress(OSError, ValueError):  # what waits in memory is written when Python ends
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


@contextmanager
def safe_output() -> Generator[None]:
    """Have what is printed in the block dropped where it cannot be written."""
    before = sys.stdout, sys.stderr
    _replace_output()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def make_output_safe() -> SafeOutput:
    """Do so from here on; return the standard output. A stream that the shell closed is opened."""
    for descriptor in (0, 1, 2):  # else the next file that is opened would get its number
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - as long as the process
    _replace_output()
    return cast(SafeOutput, sys.stdout)


def _replace_output() -> None:
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None:
            stream = open(descriptor, "w", closefd=False)  # noqa: SIM115 - as above
        if not isinstance(stream, SafeOutput):
            setattr(sys, name, SafeOutput(stream))
