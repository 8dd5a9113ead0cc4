"""The recorder started, with the cells that it has to carry in its queue."""

from collections.abc import Sequence

from sweeps.execution.driver.survey import Survey
from sweeps.execution.recorder.client import RecorderClient
from sweeps.execution.recorder.recorder_queue import RecorderQueue


def start_recorder(survey: Survey, sweep_id: str) -> RecorderClient:
    """Queue what the tracking store lacks, and start the process that carries it.

    Args:
        survey: What the launch has to do.
        sweep_id: The sweep's own record.
    """
    queue = RecorderQueue(survey.storage.journals, survey.tracking_uri)
    missing = [planned for planned in survey.cells if not planned.is_recorded]
    keys = [planned.cell.trial_key for planned in missing]
    carried = [key for key in keys if (queued := queue.cell(key)) and queued.is_closed]
    queue.forget(carried)  # noted as carried, but the store has lost them
    queue.add(keys, survey.name, sweep_id)
    queue.close()
    return RecorderClient(survey.storage, survey.tracking_uri, survey.name)


def start_recorder_of_evaluations(survey: Survey, trial_keys: Sequence[str]) -> RecorderClient:
    """Queue trials whose evaluations the store lacks, and start the process that carries them.

    Args:
        survey: What the launch has to do.
        trial_keys: Of trials that are over.
    """
    queue = RecorderQueue(survey.storage.journals, survey.tracking_uri)
    queue.add_evaluated(trial_keys, survey.name)
    queue.close()
    return RecorderClient(survey.storage, survey.tracking_uri, survey.name)
