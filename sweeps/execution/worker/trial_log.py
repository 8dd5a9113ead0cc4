"""A trial's own log: what it prints and logs, as far as the disk has room for it."""

import io
import logging
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

from sweeps.execution.cells.folder import CellFolder
from sweeps.storage.disk_room import is_full

_FIRST_LINE = "# log of a capsweep trial, schema_version 1\n"


class LogStream(io.TextIOBase):
    """A text stream that keeps nothing back, and drops what a full disk does not take.

    A trial would else fail of what it prints.
    """

    encoding = "utf-8"

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, text: str, /) -> int:
        """Write a text, or none of it where there is no room."""
        try:
            os.write(self._descriptor, text.encode(errors="backslashreplace"))
        except OSError as error:
            if not is_full(error):
                raise
        return len(text)

    def writable(self) -> bool:
        """Return that it is."""
        return True

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor


@contextmanager
def log_of(cell: CellFolder) -> Generator[None]:
    """Send what the trial prints and logs to its own file."""
    descriptor = cell.open_log()
    stream = LogStream(descriptor)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    try:
        if not os.fstat(descriptor).st_size:
            stream.write(_FIRST_LINE)
        logging.getLogger().addHandler(handler)
        with redirect_stdout(stream), redirect_stderr(stream):
            yield
    finally:
        logging.getLogger().removeHandler(handler)
        sys.stdout.flush()
        os.close(descriptor)
