"""The recorder started, with the cells that it has to carry in its queue."""

from sweeps.execution.driver.survey import Plan
from sweeps.execution.recorder.client import RecorderClient
from sweeps.execution.recorder.recorder_queue import RecorderQueue


def start_recorder(plan: Plan, sweep_id: str) -> RecorderClient:
    """Queue what the tracking store lacks, and start the process that carries it.

    Args:
        plan: What the launch does.
        sweep_id: The sweep's own record.
    """
    queue = RecorderQueue(plan.storage.journals, plan.tracking_uri)
    missing = [planned for planned in plan.cells if not planned.is_recorded]
    keys = [planned.cell.trial_key for planned in missing]
    carried = [key for key in keys if (queued := queue.cell(key)) and queued.is_closed]
    queue.forget(carried)  # noted as carried, but the store has lost them
    queue.add(keys, plan.name, sweep_id)
    queue.close()
    return RecorderClient(plan.storage, plan.tracking_uri, plan.name)
