"""A full disk, told while training waits for room."""

from pathlib import Path

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.view.board import Board
from sweeps.storage.disk_room import RESERVE_BYTES, free_bytes, is_out_of_files
from sweeps.storage.locations import Storage


class DiskWatch:
    """Looks at the storage's disk, and tells when it is full and when there is room again.

    Args:
        storage: Where the cells of a launch are.
        board: Told, and knows which trials run.
    """

    def __init__(self, storage: Storage, board: Board) -> None:
        self._storage = storage
        self._board = board
        self._is_full = False

    def look(self) -> None:
        """Look now."""
        wanted = self._wanted_bytes()
        if bool(wanted) == self._is_full:
            return
        self._is_full = bool(wanted)
        self._board.say_now("waiting for room on the disk" if wanted else "")
        self._board.say(full_disk(self._storage.root, wanted) if wanted else _ROOM_AGAIN)

    def _wanted_bytes(self) -> int:
        """Return what has to be free for all to go on, 0 where nothing waits."""
        cells = [CellFolder(self._storage.cells, key) for key in self._board.running_keys()]
        wanted = sum(cell.pulse.wanted_disk_bytes() for cell in cells)
        root = self._storage.root
        is_full = free_bytes(root) < RESERVE_BYTES or is_out_of_files(root)
        return wanted or (RESERVE_BYTES if is_full else 0)


def full_disk(folder: Path, wanted_bytes: int) -> str:
    """Return what is to be told of a full disk."""
    if is_out_of_files(folder):
        return (
            f"The disk of {folder} holds as many files as it can: this waits until some are "
            f"deleted, and goes on by itself. capsweep clean says what can be deleted."
        )
    return (
        f"The disk of {folder} is full: this waits until {max(1, wanted_bytes >> 20)} MiB "
        f"are free, and goes on by itself. capsweep clean says what can be deleted."
    )


_ROOM_AGAIN = "There is room on the disk again, and training goes on."
