"""What follows in a launch when its sweep grows: who is told of the new cells."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from search_spaces.looks import Looked
from search_spaces.plans.decisions import Decision, EndSearch, ProposeRandom, Select, Stop
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.execution.plan.growing_definition import GrowingDefinition
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.survey.folder_states import folder_states
from sweeps.execution.survey.survey import Survey
from sweeps.execution.survey.surveyed_cells import surveyed
from sweeps.execution.view.board import Board
from sweeps.records.errors import SweepError
from sweeps.records.expected_cells import fewer_cells_text
from sweeps.records.plain_text import listed, one_line
from sweeps.records.sweep_log import Decided
from sweeps.records.trial_record import TrialRecord

_MOST_NAMED = 5


class GrowingLaunch:
    """Reports to the recorder and the live view what a plan adds.

    Attributes:
        growing: The definition, as it grows.
        recorded: Trial keys of those new cells that the store had a record of.
    """

    def __init__(self, survey: Survey, board: Board, sweep_id: str) -> None:
        self.growing = GrowingDefinition(survey.definition)
        self.recorded = set[str]()
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
            cells = surveyed(entry.cells, folder_states(storage, keys), self._stored(keys))
            self.recorded |= {cell.cell.trial_key for cell in cells if cell.is_recorded}
            self._board.add(cells, epochs)
        if isinstance(decision, EndSearch | Select | Looked):
            self._board.num_expected = self.growing.manifest.num_expected
        if isinstance(decision, Stop):
            self._board.pruned(decision.trial_key)
        elif sentence := self._sentence(decision):
            self._board.say(sentence)

    def _stored(self, keys: Sequence[str]) -> Mapping[str, TrialRecord]:
        """Return the records of trials that a plan of looks finds trained, if the store answers."""
        if not self._survey.definition.sweep.until_decided:
            return {}  # other plans ask for each trial that they propose
        with suppress(SweepError):
            store = self._survey.store
            return store.records(keys) if store.exists() else {}
        return {}

    def _sentence(self, decision: Decision) -> str:
        """Return what users are told of a decision, "" for nothing."""
        match decision:
            case EndSearch():
                return (
                    f"no more is proposed: {decision.reason}; there will be at most "
                    f"{self._board.num_expected:,} cells"
                )
            case Select():
                return fewer_cells_text(self.definition.manifest)
            case Looked():
                return _look_sentence(decision)
            case ProposeRandom() if self.growing.manifest.num_drawn == 1:
                return "random points at equal compute are trained, to compare the search with"
            case _:
                return ""


def _look_sentence(looked: Looked) -> str:
    """Return what a look has decided, as one line."""
    decided = [
        f"{arm} {verdict}" for arm, verdict in looked.verdicts.items() if verdict != "undecided"
    ]
    texts = [listed(decided, _MOST_NAMED)] if decided else []
    if num_open := len(looked.verdicts) - len(decided):
        texts.append(f"{num_open} undecided{', without more seeds' * looked.is_last}")
    return one_line(f"look at {looked.num_seeds} seeds: {'; '.join(texts)}")
