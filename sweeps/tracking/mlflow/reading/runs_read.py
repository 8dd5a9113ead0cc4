"""What a reader of MLflow asks for: live runs of our experiment, and their histories."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import ValidationError

from sweeps.records.trial_record import TrialRecord
from sweeps.tracking.answers import leave_out
from sweeps.tracking.mlflow.runs import as_recorded, seconds
from sweeps.tracking.record_facts import TAG_REPLACED, record_of

History = dict[int, float]
"""Epoch -> value, in order."""


@dataclass(frozen=True, slots=True)
class FoundRun:
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

    def sweeps(self, name: str | None = None) -> Sequence[FoundRun]:
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


def counts(tags: Mapping[str, str]) -> bool:
    """Return whether a live run was not replaced."""
    return TAG_REPLACED not in tags


def record_of_found(run: FoundRun) -> TrialRecord | None:
    """Read a trial's record from its run; one that does not validate is None, with a warning."""
    numbers = {name: as_recorded(value) for name, value in run.metrics.items()}
    try:
        return record_of(run.run_id, run.tags, numbers, seconds(run.end_time))
    except ValidationError as error:
        leave_out(run.run_id, error)
        return None


def history_of(points: Iterable[tuple[Any, Any, Any]]) -> History:
    """Return a metric's history from its points. Of two values of an epoch the later told counts.

    A row of a database may hold anything in place of a number, and is then left out.

    Args:
        points: Time, epoch and value of each, those of one time in the order of epoch and value.
    """
    numbers = [point for point in points if all(isinstance(one, int | float) for one in point)]
    history = {
        epoch: as_recorded(value) for _, epoch, value in sorted(numbers, key=lambda point: point[0])
    }
    return dict(sorted(history.items()))
