"""What a worker reports about itself while it trains, since a killed one cannot report anything.

    20 digits       the most bytes that its process has held so far
    20 digits       the bytes of disk that it waits for
    20 digits       the most bytes of its GPU that it has held so far
    60 characters   its GPU
    20 digits       seconds without a batch, 0 while batches end
    240 bytes       the line of code that it is at

Each line is written over in place, which a full disk allows.
"""

import os
from contextlib import suppress

from sweeps.storage.folder import Folder

_FILE = "pulse.txt"
_LINE = b"%20d\n"
_WIDTH = 21
_GPU_START, _GPU_LINE = 3 * _WIDTH, b"%-60s\n"
_PLACE_START, _PLACE_LINES = _GPU_START + 61, b"%20d\n%-240s\n"
_MOST_BYTES = 1024


class WorkerStats:
    """The statistics of the worker of one cell, in its file `pulse.txt`, which need not exist."""

    def __init__(self, cell: Folder) -> None:
        self._cell = cell
        self.path = cell.path / _FILE

    def note_peak_memory(self, size: int) -> None:
        """Note the peak memory of the attempt's process so far."""
        self._note(0, size)

    def note_wanted_disk(self, size: int) -> None:
        """Note for how many bytes of disk the attempt waits, 0 if it does not wait."""
        self._note(1, size)

    def note_peak_gpu(self, size: int) -> None:
        """Note what the attempt's process has held of its GPU at most, 0 if unknown."""
        self._note(2, size)

    def note_gpu(self, name: str) -> None:
        """Note which GPU the attempt uses, "" if none."""
        self._write(_GPU_START, _GPU_LINE % name.encode()[:60])

    def note_line(self, line: str, stalled_seconds: int = 0) -> None:
        """Note at which line the attempt is, and how long it has gone without a batch."""
        text = line.encode(errors="backslashreplace")[:240].decode(errors="ignore")
        self._write(_PLACE_START, _PLACE_LINES % (stalled_seconds, text.encode()))

    def peak_memory_bytes(self) -> int | None:
        """Return the peak memory of the last attempt, None if unknown."""
        return self._number(0)

    def wanted_disk_bytes(self) -> int:
        """Return for how many bytes of disk the last attempt waits."""
        return self._number(1) or 0

    def peak_gpu_bytes(self) -> int | None:
        """Return the most GPU memory that the last attempt held, None if unknown."""
        return self._number(2) or None

    def gpu(self) -> str:
        """Return which GPU the last attempt uses, "" if none or unknown."""
        return self._text(_GPU_START, 60).strip()

    def stalled_seconds(self) -> int:
        """Return how long the last attempt has gone without a batch, 0 while batches end."""
        return self._number_at(_PLACE_START) or 0

    def line(self) -> str:
        """Return the line of code at which the last attempt was seen last, "" if unknown."""
        return self._text(_PLACE_START + _WIDTH, 240).strip()

    def _note(self, line: int, size: int) -> None:
        self._write(_WIDTH * line, _LINE % size)

    def _write(self, start: int, text: bytes) -> None:
        with suppress(OSError, ValueError):  # it may want room too, or the file be a stranger's
            descriptor = self._cell.open(_FILE, os.O_WRONLY | os.O_CREAT)
            try:
                os.pwrite(descriptor, text, start)
            finally:
                os.close(descriptor)

    def _number(self, line: int) -> int | None:
        return self._number_at(_WIDTH * line)

    def _number_at(self, start: int) -> int | None:
        try:
            return int(self._text(start, _WIDTH))
        except ValueError:  # not written yet
            return None

    def _text(self, start: int, length: int) -> str:
        try:
            content = self._cell.read(_FILE, most_bytes=_MOST_BYTES)
            text = content[start : start + length].decode()
            return text.replace("\0", "")  # of lines before it that were never written
        except (OSError, ValueError):  # not there yet; a stranger's file is a ValueError too
            return ""
