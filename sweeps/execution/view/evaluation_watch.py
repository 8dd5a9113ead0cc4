"""A watch on trials that were trained: it says how many of their evaluations are made."""

from collections.abc import Collection

from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.view.board import Board
from sweeps.records.errors import BadInput
from sweeps.storage.locations import Storage


class EvaluationWatch:
    """Looks into the folders of running trials, and reports to the board which are evaluated.

    Args:
        storage: Where the cells of a launch are.
        board: Knows which trials run.
        evaluations: Keys of the evaluations that a training's process makes.
    """

    def __init__(self, storage: Storage, board: Board, evaluations: Collection[str]) -> None:
        self._storage = storage
        self._board = board
        self._evaluations = evaluations

    def look(self) -> None:
        """Look at all that run now."""
        for key in self._board.running_keys() if self._evaluations else ():
            cell = CellFolder(self._storage.cells, key)
            if cell.is_filled():
                seconds = evaluation_seconds(cell)
                num_made = len(seconds.keys() & {*self._evaluations})
                self._board.evaluated(key, seconds)
                self._board.evaluating(key, num_made, len(self._evaluations))


def evaluation_seconds(cell: CellFolder) -> dict[str, float]:
    """Return key -> seconds of each evaluation of a cell, without those that cannot be read."""
    evaluations, seconds = CellEvaluations(cell.path), dict[str, float]()
    try:
        for key in evaluations.keys():  # noqa: SIM118 - it is no mapping
            if record := evaluations.read(key):
                seconds[key] = record.duration_seconds
    except (BadInput, OSError):
        pass
    return seconds
