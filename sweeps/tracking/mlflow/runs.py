"""A record as MLflow has it: one run of one experiment, with a status of MLflow's own."""

import math
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sweeps.records.trial_record import Outcome

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

EXPERIMENT = "capsweep"
PAGE = 1000
"""How many runs are asked for at once."""

_YEAR_9999 = 253_370_764_800_000  # in milliseconds: no calendar goes further
RUN_STATUS = {
    Outcome.RUNNING: "RUNNING",
    Outcome.FINISHED: "FINISHED",
    Outcome.DIVERGED: "FAILED",
    Outcome.FAILED: "FAILED",
    Outcome.PRUNED: "KILLED",
    Outcome.INTERRUPTED: "SCHEDULED",  # no failure: MLflow's pages have a red cross for KILLED
}


def sweep_status(exit_code: int | None) -> str:
    """Return MLflow's word for how a launch ended, None for one that runs.

    One that was interrupted waits to be gone on with, as nothing in it has failed.
    """
    return {None: "RUNNING", 0: "FINISHED", 130: "SCHEDULED"}.get(exit_code, "FAILED")


def seconds(milliseconds: Any) -> float | None:
    """Return a time as seconds; None of what a database may hold in its place."""
    is_time = isinstance(milliseconds, int) and 0 < milliseconds < _YEAR_9999
    return milliseconds / 1000 if is_time else None


def tags_of(run: "Run") -> dict[str, str]:
    """Return the tags of a run that are texts: a row of a database may hold anything else."""
    tags = named(run.data.tags)
    return {name: value for name, value in tags.items() if isinstance(value, str)}


def runs_that(
    client: "MlflowClient",
    experiment_id: str,
    condition: str,
    page: int = PAGE,
    which: str = "ACTIVE_ONLY",
) -> "Iterator[Run]":
    """Yield the runs of an experiment that a filter lets through, the earliest first.

    Args:
        client: Of the store.
        experiment_id: Of the experiment.
        condition: The filter, as MLflow takes it.
        page: How many are asked for at once.
        which: By MLflow's `ViewType`: "ACTIVE_ONLY", "DELETED_ONLY" or "ALL".
    """
    from mlflow.entities import ViewType  # here, as MLflow takes long to import

    kind = ViewType.from_string(which.lower())
    token: str | None = None
    while True:
        found = client.search_runs(
            [experiment_id],
            condition,
            kind,
            max_results=page,
            order_by=["attributes.start_time ASC", "attributes.run_id ASC"],
            page_token=token,
        )
        yield from found
        token = found.token
        if not token:
            return


def as_recorded(value: Any) -> Any:
    """Return a metric as it was before MLflow stored it: its stores hold no infinity.

    A database may hold anything in place of a number, which is left to validation.
    """
    if not isinstance(value, int | float):
        return value
    return math.copysign(math.inf, value) if abs(value) >= sys.float_info.max else value


def named(values: Mapping[Any, Any]) -> dict[str, Any]:
    """Return values without those that have no text for a name."""
    return {name: value for name, value in values.items() if isinstance(name, str)}
