"""A watch on the disk: it says when training waits for space, and when it goes on."""

from pathlib import Path

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.view.board import Board
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.storage.disk_room import RESERVE_BYTES, free_bytes, is_out_of_files
from sweeps.storage.locations import Storage

_DISK_HAS_ROOM = "There is space on the disk again; training continues."


class DiskWatch:
    """Checks the storage's disk, and reports to the board when it is full and when it is not.

    Args:
        storage: Where the cells of a launch are.
        board: Gets the sentences; knows which trials run.
    """

    def __init__(self, storage: Storage, board: Board) -> None:
        self._storage = storage
        self._board = board
        self._is_full = False

    def look(self) -> None:
        """Check the disk now."""
        wanted = self._wanted_bytes()
        if bool(wanted) == self._is_full:
            return
        self._is_full = bool(wanted)
        self._board.say_now("waiting for room on the disk" if wanted else "")
        self._board.say(full_disk(self._storage.root, wanted) if wanted else _DISK_HAS_ROOM)

    def _wanted_bytes(self) -> int:
        """Return how much must be free for all trials to go on, 0 if none waits."""
        cells = [CellFolder(self._storage.cells, key) for key in self._board.running_keys()]
        wanted = sum(cell.stats.wanted_disk_bytes() for cell in cells)
        return wanted or bytes_wanted(self._storage.root)


def bytes_wanted(folder: Path) -> int:
    """Return how much must be free on a disk for logs and records to be written; 0 if it is."""
    is_full = free_bytes(folder) < RESERVE_BYTES or is_out_of_files(folder)
    return RESERVE_BYTES if is_full else 0


def full_disk(folder: Path, wanted_bytes: int) -> str:
    """Return a sentence about a full disk."""
    if is_out_of_files(folder):
        return (
            f"The disk of {folder} holds as many files as it can: this waits until some are "
            f"deleted, and then continues. {SuggestedCommand('clean')} says what can be deleted."
        )
    return (
        f"The disk of {folder} is full: this waits until {max(1, wanted_bytes >> 20)} MiB are "
        f"free, and then continues. {SuggestedCommand('clean')} says what can be deleted."
    )
