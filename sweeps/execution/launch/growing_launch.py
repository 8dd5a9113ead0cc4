"""What follows in a launch when its sweep grows: who is told of the new cells."""

from search_spaces.plans.decisions import EndSearch, ProposeRandom, Select, Stop
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.execution.plan.growing_definition import GrowingDefinition
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.survey.folder_states import folder_states
from sweeps.execution.survey.survey import Survey
from sweeps.execution.survey.surveyed_cells import surveyed
from sweeps.execution.view.board import Board
from sweeps.records.expected_cells import fewer_cells_text
from sweeps.records.sweep_log import Decided


class GrowingLaunch:
    """Reports to the recorder and the live view what a plan adds.

    Attributes:
        growing: The definition, as it grows.
    """

    def __init__(self, survey: Survey, board: Board, sweep_id: str) -> None:
        self.growing = GrowingDefinition(survey.definition)
        self._survey = survey
        self._board = board
        self._sweep_id = sweep_id

    @property
    def definition(self) -> SweepDefinition:
        """The definition as it is now, whole."""
        return self.growing.snapshot()

    def grown(self, entry: Decided) -> None:
        """Report a decision that was written to the log and is part of the definition."""
        storage, decision = self._survey.storage, entry.decision
        if self._survey.definition.manifest.search:
            self._board.changes |= {arm.name: arm.changes for arm in entry.arms}
        keys = [cell.trial_key for cell in entry.cells]
        if keys:
            queue = RecorderQueue(storage.journals, self._survey.tracking_uri)
            queue.forget(keys)  # carried once, perhaps, into a store that was lost since
            queue.add_more(keys, self._survey.name, self._sweep_id)
            queue.close()
            epochs = {cell.arm: self.growing.epochs[cell.arm] for cell in entry.cells}
            self._board.add(surveyed(entry.cells, folder_states(storage, keys), {}), epochs)
        match decision:
            case Stop():
                self._board.pruned(decision.trial_key)
            case EndSearch():
                self._board.num_expected = self.growing.manifest.num_expected
                self._board.say(
                    f"no more is proposed: {decision.reason}; there will be at most "
                    f"{self._board.num_expected:,} cells"
                )
            case Select():
                self._board.num_expected = self.growing.manifest.num_expected
                if fewer := fewer_cells_text(self.definition.manifest):
                    self._board.say(fewer)
            case ProposeRandom() if self.growing.manifest.num_drawn == 1:
                self._board.say(
                    "random points at equal compute are trained, to compare the search with"
                )
            case _:
                pass
