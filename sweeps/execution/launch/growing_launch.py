"""What follows in a launch when its sweep grows: who is told of the new cells."""

from sweeps.execution.plan.definition import Definition
from sweeps.execution.plan.growing_definition import GrowingDefinition
from sweeps.execution.recorder.manifest_file import hand_on
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.survey.folder_states import folder_states
from sweeps.execution.survey.survey import Survey
from sweeps.execution.survey.surveyed_cells import surveyed
from sweeps.execution.view.board import Board
from sweeps.records.manifest_growth import ManifestLine


class GrowingLaunch:
    """Tells the recorder and the live view of what a plan adds.

    Attributes:
        growing: The definition, as it grows.
    """

    def __init__(self, survey: Survey, board: Board, sweep_id: str) -> None:
        self.growing = GrowingDefinition(survey.definition)
        self._survey = survey
        self._board = board
        self._sweep_id = sweep_id

    @property
    def definition(self) -> Definition:
        """The definition as it is now, whole."""
        return self.growing.snapshot()

    def grown(self, line: ManifestLine) -> None:
        """The manifest has grown by a line; the definition has taken it already."""
        storage = self._survey.storage
        if line.proposal or line.drawn:
            self._board.changes |= {arm.name: arm.changes for arm in line.arms}
        keys = [cell.trial_key for cell in line.cells]
        if keys:
            queue = RecorderQueue(storage.journals, self._survey.tracking_uri)
            queue.forget(keys)  # carried once, perhaps, into a store that was lost since
            queue.add_more(keys, self._survey.name, self._sweep_id)
            queue.close()
            epochs = {cell.arm: self.growing.epochs[cell.arm] for cell in line.cells}
            self._board.add(surveyed(line.cells, folder_states(storage, keys), {}), epochs)
        if line.trial_key:
            self._board.pruned(line.trial_key)
        if line.ended or line.choice:
            self._board.num_expected = self.growing.manifest.num_expected
        if line.ended:
            self._board.say(f"no more is proposed: {line.ended.reason}")
        if line.drawn and line.drawn.number == 0:
            self._board.say(
                "random points at equal compute are trained, to hold the search against"
            )
        hand_on(storage.journals, self._survey.name, line)
