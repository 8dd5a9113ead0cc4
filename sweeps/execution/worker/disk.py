"""What a trial writes, on a disk that may be full: it waits, and its cell tells for how much."""

from collections.abc import Callable
from typing import TypeVar

from sweeps.execution.cells.folder import CellFolder
from sweeps.storage.disk_room import wait_for_room, when_there_is_room

R = TypeVar("R")


class Disk:
    """The disk of one cell."""

    def __init__(self, cell: CellFolder) -> None:
        self._cell = cell
        self._largest = 0

    def wait(self) -> None:
        """Return when there is room to begin."""
        wait_for_room(self._cell.path)

    def keep(self, write: Callable[[], R]) -> R:
        """Do a write that may be repeated, as soon as there is room for it."""
        cell = self._cell
        return when_there_is_room(write, cell.path, self._wanted(), cell.pulse.note_wanted_disk)

    def _wanted(self) -> int:
        """Return the size of the largest file that was written: what is next is about as large."""
        size = self._cell.checkpoint.stat().st_size if self._cell.checkpoint.exists() else 0
        self._largest = max(self._largest, size)
        return self._largest
