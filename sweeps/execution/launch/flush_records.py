"""The end of recording: the tracking store is asked whether it has everything.

A store may have lost records, in an earlier launch or during this one. What it lacks is copied to
it again, so a launch that says all is recorded has checked it.
"""

import time
from collections.abc import Sequence

from sweeps.execution.launch.opened_records import reopen_records
from sweeps.execution.launch.progress import Progress
from sweeps.execution.launch.unrecorded import Unrecorded, unrecorded
from sweeps.execution.recorder.client import RecorderClient
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.survey.survey import Survey
from sweeps.execution.view.live_view import print_line
from sweeps.records.errors import StoreRefused, SweepError

TIMEOUT_SECONDS = 60.0  # twice the time of one request on a busy machine
INTERRUPTED_SECONDS = 3.0
_SECONDS_BETWEEN_LINES = 5.0
_MOST_ROUNDS = 3


class RecordingProgress:
    """Prints how far the recorder is, a line now and then.

    Args:
        sweep: The name of the sweep.
    """

    def __init__(self, sweep: str) -> None:
        self._sweep = sweep
        self._printed_at = time.monotonic()

    def __call__(self, num_done: int, num_left: int) -> None:
        """Take how many trials are recorded, and of how many."""
        if time.monotonic() > self._printed_at + _SECONDS_BETWEEN_LINES:
            print_line(f"{self._sweep}: recording: {num_done} of {num_left}")
            self._printed_at = time.monotonic()


def record_rest(progress: Progress, recorder: RecorderClient, *, is_interrupted: bool) -> None:
    """Let the recorder finish, and find out whether the store has everything.

    Args:
        progress: Gets whether all is recorded, and if not, why.
        recorder: The recorder of the launch.
        is_interrupted: Whether a user waits: the recorder gets a moment, the store is not asked.
    """
    progress.is_recorded = False  # in case this is interrupted too
    if is_interrupted:
        most = 1.5 * INTERRUPTED_SECONDS
        progress.is_recorded = recorder.finish(INTERRUPTED_SECONDS, most_seconds=most)
        progress.error = recorder.error
        return
    progress.error = _error_of(progress, recorder)
    progress.is_recorded = not progress.error


def record_evaluations(progress: Progress, trial_keys: Sequence[str]) -> None:
    """Record the evaluations of trials, and find out whether that worked."""
    survey = progress.survey
    queue_evaluations(survey, trial_keys)
    recorder = RecorderClient(survey.storage, survey.tracking_uri, survey.name)
    were_recorded, progress.is_recorded = progress.is_recorded, False  # in case this is interrupted
    error = _error_of(progress, recorder)
    progress.is_recorded = were_recorded and not error
    progress.error = progress.error or error


def _error_of(progress: Progress, recorder: RecorderClient) -> str:
    """Record everything. Returns why some of it is missing, "" if nothing is."""
    try:
        return _record_all(progress, recorder)
    except SweepError as error:
        return str(error)


def _record_all(progress: Progress, recorder: RecorderClient) -> str:
    """Record what the store lacks. Returns why some of it is missing, "" if nothing is."""
    assert progress.records is not None
    survey, print_progress = progress.survey, RecordingProgress(progress.survey.name)
    recorded_keys = {cell.cell.trial_key for cell in survey.cells if cell.is_recorded}
    missing = Unrecorded([], [], [])
    for _ in range(_MOST_ROUNDS):
        if not recorder.finish(TIMEOUT_SECONDS, print_progress):
            return recorder.error
        manifest = progress.definition.manifest
        missing = unrecorded(survey.store, survey.storage, manifest, recorded_keys)
        if missing.to_carry or not _has_sweep(progress):
            assert progress.log is not None
            progress.records = reopen_records(survey, manifest, progress.log)
        if not missing.to_queue:
            break
        queue = RecorderQueue(survey.storage.journals, survey.tracking_uri)
        queue.forget(missing.to_carry)
        queue.add_more(missing.to_carry, survey.name, progress.records.sweep_id)
        queue.add_evaluated(missing.evaluated, survey.name)
        queue.close()
    if missing.to_queue:
        return (
            f"the tracking store loses what it is given: it lacks {len(missing.to_queue)} trials, "
            f"or evaluations of them"
        )
    if missing.lost:
        return (
            f"the tracking store has lost {len(missing.lost)} trials whose folders are gone, which "
            f"have to be trained again"
        )
    return ""


def start_recorder(survey: Survey, sweep_id: str) -> RecorderClient:
    """Queue what the tracking store lacks, and start the recorder.

    Args:
        survey: What the launch has to do.
        sweep_id: The id of the sweep's record.
    """
    queue = RecorderQueue(survey.storage.journals, survey.tracking_uri)
    missing = [planned for planned in survey.cells if not planned.is_recorded]
    keys = [planned.cell.trial_key for planned in missing]
    recorded = [key for key in keys if (queued := queue.cell(key)) and queued.is_closed]
    unknown = [planned.cell.trial_key for planned in missing if not planned.has_record]
    queue.forget([*recorded, *unknown])  # the store has lost them, whatever the queue says
    queue.add(keys, survey.name, sweep_id)
    queue.close()
    return RecorderClient(survey.storage, survey.tracking_uri, survey.name)


def queue_evaluations(survey: Survey, trial_keys: Sequence[str]) -> None:
    """Queue trials whose evaluations the store lacks. The recorder takes them from there.

    Args:
        survey: What the launch has to do.
        trial_keys: Trials that have ended.
    """
    queue = RecorderQueue(survey.storage.journals, survey.tracking_uri)
    queue.add_evaluated(trial_keys, survey.name)
    queue.close()


def _has_sweep(progress: Progress) -> bool:
    """Return whether the store still has the sweep's record that the launch opened."""
    assert progress.records is not None
    try:
        sweep_record = progress.records.writer.find_sweep(progress.survey.name)
    except StoreRefused:
        return False
    return sweep_record is not None and sweep_record.record_id == progress.records.sweep_id
