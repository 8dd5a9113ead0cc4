"""What follows in a launch when its search grows: who is told of the new cells."""

from collections.abc import Sequence

from sweeps.execution.driver.board import Board
from sweeps.execution.driver.survey import Plan, folder_states
from sweeps.execution.plan.definition import Definition
from sweeps.execution.plan.planner import planned
from sweeps.execution.recorder.manifest_file import hand_over
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.records.manifest import ManifestCell


class GrowingLaunch:
    """Tells the recorder and the live view of what a search adds.

    Attributes:
        definition: As it is now.
    """

    def __init__(self, plan: Plan, board: Board, sweep_id: str) -> None:
        self.definition = plan.definition
        self._plan = plan
        self._board = board
        self._sweep_id = sweep_id

    def grown(self, definition: Definition, cells: Sequence[ManifestCell]) -> None:
        """The definition has changed; these cells are new in it."""
        self.definition = definition
        storage = self._plan.storage
        keys = [cell.trial_key for cell in cells]
        if keys:
            queue = RecorderQueue(storage.journals, self._plan.tracking_uri)
            queue.add_more(keys, self._plan.name, self._sweep_id)
            queue.close()
            self._board.add(planned(cells, folder_states(storage, keys), {}), definition.epochs)
        hand_over(storage.journals, definition.manifest)
