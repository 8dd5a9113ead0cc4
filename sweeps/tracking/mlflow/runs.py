"""The runs of MLflow's one experiment that capsweep writes to, and what a reader gets of them."""

import math
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import ValidationError

from sweeps.records.trial_record import Outcome, TrialRecord
from sweeps.tracking.record_facts import TAG_REPLACED, TAG_SWEEP, TAG_TRIAL_KEY, record_of
from sweeps.tracking.validation import warn_invalid, warn_long

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

EXPERIMENT = "capsweep"
TYPE_ARM = "arm"
"""Of runs that people browse: they are no records."""

TAG_SHOWN = "capsweep.shown_sha256"
"""Of a sweep's own run: the digest of its summary, written when all of that is shown."""

PAGE = 1000
"""How many runs are asked for at once."""
MOST_LETTERS = 100_000
"""Of a text of a record: MLflow itself takes no more than 8,000 in a tag."""


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
    *,
    page: int = PAGE,
    view: str = "ACTIVE_ONLY",
) -> "Iterator[Run]":
    """Yield the runs of an experiment that a filter lets through, the earliest first.

    Args:
        client: Client of the store.
        experiment_id: Experiment id of the experiment.
        condition: The filter, as MLflow takes it.
        page: How many are asked for at once.
        view: By MLflow's `ViewType`: "ACTIVE_ONLY", "DELETED_ONLY" or "ALL".
    """
    from mlflow.entities import ViewType  # here, as MLflow takes long to import

    kind = ViewType.from_string(view.lower())
    token: str | None = None
    while True:
        runs = client.search_runs(
            [experiment_id],
            condition,
            kind,
            max_results=page,
            order_by=["attributes.start_time ASC", "attributes.run_id ASC"],
            page_token=token,
        )
        yield from runs
        token = runs.token
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


History = dict[int, float]
"""Epoch -> value, in order."""


@dataclass(frozen=True, slots=True)
class RunData:
    """A run as it lies in the store, which may hold anything in place of a text or a number.

    Attributes:
        tags: Those that are texts.
        metrics: The last value of each, as stored.
        end_time: In milliseconds since 1970.
    """

    run_id: str
    tags: Mapping[str, str]
    metrics: Mapping[str, Any] = field(default_factory=dict[str, Any])
    end_time: Any = None


class Runs(Protocol):
    """Live runs of our experiment that were not replaced, the earliest started first."""

    def sweeps(self, name: str | None = None) -> Sequence[RunData]:
        """Return the sweeps' own runs, of one name or all, by their tags."""
        ...

    def records(self, keys: Collection[str]) -> dict[str, TrialRecord]:
        """Return the record of each trial key that counts."""
        ...

    def records_beginning(self, start: str) -> dict[str, TrialRecord]:
        """Return the records that count whose trial keys begin with letters and digits."""
        ...

    def records_of_run(self, run_id: str) -> dict[str, TrialRecord]:
        """Return a trial's record by the id of its run, a word of letters and digits."""
        ...

    def histories(
        self, run_ids: Sequence[str], metrics: Sequence[str]
    ) -> Iterable[tuple[str, str, History]]:
        """Yield each metric's history of each run: id, metric, history."""
        ...

    def first_tests(
        self, sweeps: Collection[str], fingerprints: Collection[str]
    ) -> dict[str, float]:
        """Return when sweeps started their first trial with a test error on some data."""
        ...

    def deleted(self, kind: str) -> frozenset[str]:
        """Return the names of a kind's runs that others deleted: "sweep", "trial" by trial keys."""
        ...


NAMED_BY = {"sweep": TAG_SWEEP, "trial": TAG_TRIAL_KEY}


def counts(tags: Mapping[str, str]) -> bool:
    """Return whether a live run was not replaced."""
    return TAG_REPLACED not in tags


def read_record(run: RunData) -> TrialRecord | None:
    """Read a trial's record from its run; one that does not validate is None, with a warning."""
    numbers = {name: as_recorded(value) for name, value in run.metrics.items()}
    if long := next((name for name, value in run.tags.items() if len(value) > MOST_LETTERS), None):
        warn_long(run.run_id, long)
        return None
    try:
        return record_of(run.run_id, run.tags, numbers, seconds(run.end_time))
    except ValidationError as error:
        warn_invalid(run.run_id, error)
        return None


def history_of(points: Iterable[tuple[Any, Any, Any]]) -> History:
    """Return a metric's history from its points. Of two values of an epoch the later told counts.

    A row of a database may hold anything in place of a number, and is then left out.

    Args:
        points: Time, epoch and value of each, those of one time in the order of epoch and value.
    """
    numbers = [
        point for point in points if all(isinstance(number, int | float) for number in point)
    ]
    history = {
        epoch: as_recorded(value) for _, epoch, value in sorted(numbers, key=lambda point: point[0])
    }
    return dict(sorted(history.items()))
