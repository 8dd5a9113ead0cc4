"""What a worker reports about itself while it trains, since a killed one cannot report anything.

    20 digits       the most bytes that its process has held so far
    20 digits       the bytes of disk that it waits for
    20 digits       the most bytes of its GPU that it has held so far
    60 characters   its GPU

Each line is written over in place, which a full disk allows.
"""

import os
from contextlib import suppress

from sweeps.storage.folder import Folder

_FILE = "pulse.txt"
_LINE = b"%20d\n"
_WIDTH = 21
_GPU_LINE = b"%-60s\n"  # behind three numbers


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
        self._write(3 * _WIDTH, _GPU_LINE % name.encode()[:60])

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
        return self._text(3 * _WIDTH, 60).strip()

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
        try:
            return int(self._text(_WIDTH * line, _WIDTH))
        except ValueError:  # not written yet
            return None

    def _text(self, start: int, length: int) -> str:
        try:
            return self._cell.read(_FILE, most_bytes=200)[start : start + length].decode()
        except (OSError, ValueError):  # not there yet; a stranger's file is a ValueError too
            return ""
