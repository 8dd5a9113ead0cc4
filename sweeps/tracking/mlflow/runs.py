"""A record as MLflow has it: one run of one experiment, with a status of MLflow's own."""

import math
import sys
from typing import TYPE_CHECKING, Any

from sweeps.records.trial_record import Outcome, TrialRecord
from sweeps.tracking.record_facts import record_of

if TYPE_CHECKING:
    from mlflow.entities import Run

EXPERIMENT = "capsweep"
RUN_STATUS = {
    Outcome.RUNNING: "RUNNING",
    Outcome.FINISHED: "FINISHED",
    Outcome.DIVERGED: "FAILED",
    Outcome.FAILED: "FAILED",
    Outcome.PRUNED: "KILLED",
    Outcome.INTERRUPTED: "KILLED",
}


def sweep_status(exit_code: int | None) -> str:
    """Return MLflow's word for how a launch ended, None for one that runs."""
    return {None: "RUNNING", 0: "FINISHED", 130: "KILLED"}.get(exit_code, "FAILED")


def record_of_run(run: "Run") -> TrialRecord:
    """Read a trial's record from its run.

    Raises:
        pydantic.ValidationError: If a tag does not hold what it should.
    """
    tags: dict[str, str] = run.data.tags
    metrics: dict[str, float] = run.data.metrics
    settings: dict[str, Any] = run.data.params
    numbers = {name: as_recorded(value) for name, value in metrics.items()}
    return record_of(run.info.run_id, tags, numbers, settings)


def as_recorded(value: Any) -> Any:
    """Return a metric as it was before MLflow stored it: its stores hold no infinity.

    A database may hold anything in place of a number, which is left to validation.
    """
    if not isinstance(value, int | float):
        return value
    return math.copysign(math.inf, value) if abs(value) >= sys.float_info.max else value
