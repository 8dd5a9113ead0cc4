"""Carrying evaluations to the records of trials, whenever they were made."""

from collections.abc import Callable
from pathlib import Path

from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.recorder.recorder_queue import EvaluatedTrial, RecorderQueue
from sweeps.records.errors import BadInput, StoreRefused
from sweeps.records.evaluation_names import evaluation_metric
from sweeps.records.evaluation_record import EvaluationRecord
from sweeps.tracking.store import RecordWriter


class EvaluationCarrier:
    """Serves the evaluated trials of one tracking store's queue.

    It may be killed at any point: the tag that says that an evaluation is there is written last,
    and what was sent without it is sent again with the same time.

    Args:
        records: Of the tracking store.
        queue: Of the same.
        cells: Folder of the cells' folders.
        moved: Told of each trial whose evaluations are carried, by name, and False.

    Attributes:
        complaint: What the store has refused, or which evaluation cannot be read, of the first
            trial of the last round; "" where all went well.
    """

    complaint = ""

    def __init__(
        self,
        records: RecordWriter,
        queue: RecorderQueue,
        cells: Path,
        moved: Callable[[str, bool], None] = lambda what, is_through: None,
    ) -> None:
        self._records = records
        self._queue = queue
        self._cells = cells
        self._moved = moved

    def drain(self) -> int:
        """Carry what the queue holds. A trial that is refused does not keep the others back.

        Returns:
            How many trials were carried.

        Raises:
            StoreUnreachable: If the store does not answer.
        """
        self.complaint = ""
        num_carried = 0
        for trial in self._queue.evaluated():
            try:
                if self._carry(trial):
                    num_carried += 1
                    self._moved(f"evaluations of {trial.trial_key}", False)
            except (StoreRefused, BadInput) as error:
                self._records.refuse_absence()
                why = error.reason if isinstance(error, StoreRefused) else str(error)
                self.complaint = self.complaint or why
        return num_carried

    def _carry(self, trial: EvaluatedTrial) -> bool:
        """Carry a trial's evaluations; one that has no record yet waits for the next round.

        What the record holds already stands, also where another storage looked at the trial first.
        """
        trial_record = self._records.find_trial(trial.trial_key)
        if trial_record is None:
            return False
        notes = CellEvaluations(self._cells / trial.trial_key)
        for key in sorted(notes.keys() - self._records.noted_evaluations(trial_record.record_id)):
            if record := notes.read(key):
                self._record(trial_record.record_id, record, notes.paths(record))
        self._queue.drop_evaluated(trial)
        return True

    def _record(self, record_id: str, record: EvaluationRecord, paths: tuple[Path, ...]) -> None:
        numbers = {
            evaluation_metric(record.kind, record.evaluation_key, name): value
            for name, value in record.metrics.items()
        }
        self._records.log_metrics(record_id, numbers, record.time, 0)
        for path in paths:
            self._records.upload(record_id, path)
        self._records.note_evaluation(record_id, record.evaluation_key, record.kind)
