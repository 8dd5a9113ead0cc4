"""A watch on trials in which no batch ends: it says where they are."""

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.view.board import Board
from sweeps.execution.worker.stack_watch import stall_text
from sweeps.storage.locations import Storage


class StallWatch:
    """Reads what the workers note, and reports each stall to the board once.

    Args:
        storage: Where the cells of a launch are.
        board: Gets the sentences; knows which trials run.
    """

    def __init__(self, storage: Storage, board: Board) -> None:
        self._storage = storage
        self._board = board
        self._reported = set[str]()

    def look(self) -> None:
        """Look at all that run now."""
        for trial in self._board.snapshot():
            key = trial.cell.trial_key
            stats = CellFolder(self._storage.cells, key).stats
            if key not in self._reported and (seconds := stats.stalled_seconds()):
                self._reported.add(key)
                sentence = stall_text(seconds, stats.line())
                self._board.say(f"{trial.cell.arm}, seed {trial.cell.seed}: {sentence}")
