"""The protocols of a tracking store: how records are read, and how they are written.

There are three implementations: MLflow by its client, MLflow's SQLite file by SQL, and one in
memory. One contract tests all of them (tests/sweeps/tracking/store_contract.py). A store that is
passed to the recorder and to readers needs no more than these protocols.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from capsmodel.metrics import EpochMetrics
from sweeps.records.cell_contents import FinalRecord, TrialSpec
from sweeps.records.manifest import Manifest
from sweeps.records.sweep_log import Entry
from sweeps.records.trial_record import Json, Outcome, TrialRecord
from sweeps.tracking.sweep_summary import SweepSummary

NO_LABELS: Mapping[str, str] = MappingProxyType({})


class TrialRef(NamedTuple):
    """The id of a trial's record and its last outcome, None where that is not valid."""

    record_id: str
    outcome: Outcome | None


class SweepRef(NamedTuple):
    """The id of a sweep's own record, and whether it is marked as running."""

    record_id: str
    is_running: bool


class SettledSweep(NamedTuple):
    """What the own record of a finished sweep says, which a launch may find to be all there is.

    Attributes:
        record_id: Its id.
        log_digest: Of its current log, which is there and whole.
        summary_digest: Of the summary that people browse, "" where there is none.
        numbers: The record's numbers, those of the summary among them.
        arms: Names of the arms that the summary shows, sorted.
    """

    record_id: str
    log_digest: str
    summary_digest: str
    numbers: Mapping[str, Any]
    arms: tuple[str, ...]

    def shows(self, summary: SweepSummary) -> bool:
        """Return whether all of a summary is there."""
        numbers = {name: self.numbers.get(name) for name in summary.numbers}
        arms = tuple(sorted(arm.name for arm in summary.arms))
        return (self.summary_digest, numbers, self.arms) == (
            summary.digest,
            dict(summary.numbers),
            arms,
        )


class FreedWeights(NamedTuple):
    """The result of deleting recorded weights.

    Attributes:
        freed_bytes: 0 where there were none, or they are still there.
        complaint: Why they are still there, in one sentence; "" where they are not.
    """

    freed_bytes: int
    complaint: str


class RecordStore(Protocol):
    """Reads records; writes and creates nothing.

    The store is not contacted before the first question. What it holds is untrusted: records that
    are not valid are left out with a logged warning, and invalid logs of sweeps are refused.
    Replaced and deleted records are left out. Every method raises `BadInput` where the store is
    missing and `StoreUnreachable` where it does not answer.
    """

    @property
    def address(self) -> str:
        """The address of the store; it may hold a password."""
        ...

    def exists(self) -> bool:
        """Return whether the store exists; the first writer creates one that does not."""
        ...

    def writer(self) -> "RecordWriter":
        """Open the store for writing; it is created if it does not exist.

        Raises:
            StoreUnreachable: If it does not answer.
        """
        ...

    def publisher(self) -> "ReportPublisher":
        """Return what adds a report's files to a sweep's own record, which must exist.

        Raises:
            StoreUnreachable: If the store does not answer.
        """
        ...

    def sweeps(self) -> list[str]:
        """Return the names of all sweeps, sorted."""
        ...

    def sweep_id(self, sweep: str) -> str:
        """Return the id of the sweep's own record.

        Raises:
            BadInput: If there is no such sweep; the nearest known name is given.
        """
        ...

    def settled(self, sweep: str) -> SettledSweep | None:
        """Return what the own record of a finished sweep says.

        Returns:
            None if the last launch has not finished, the record lacks something, or only a writer
            could tell.
        """
        ...

    def sweep_log(self, sweep: str) -> list[Entry]:
        """Return the sweep's definition and the decisions of its plan.

        Raises:
            BadInput: If there is no such sweep, or its log is missing or not valid.
        """
        ...

    def manifest(self, sweep: str) -> Manifest:
        """Return the sweep's current manifest, which its log comes to.

        Raises:
            BadInput: If there is no such sweep, or its log is missing or not valid.
        """
        ...

    def records(self, keys: Iterable[str]) -> dict[str, TrialRecord]:
        """Return the record of each trial key that has one.

        Of two records of one key, a final one counts before others, and then the one that started
        first.
        """
        ...

    def record(self, key: str) -> TrialRecord | None:
        """Return the record of one trial key, None if it has none."""
        ...

    def deleted(self, keys: Iterable[str]) -> frozenset[str]:
        """Return those trial keys, of some without a record, whose record somebody has deleted.

        A store in which that leaves no trace returns none.
        """
        ...

    def first_tests(self, fingerprints: Iterable[str]) -> dict[str, float]:
        """Return when each sweep started its first trial with a test error on some data.

        Name of a sweep -> seconds since 1970. Trials count for the sweep that trained them first.

        Args:
            fingerprints: Data fingerprints, of which a trial has one.
        """
        ...

    def find(self, prefix: str) -> TrialRecord:
        """Return the record whose trial key begins with `prefix`, or whose id it is.

        Raises:
            BadInput: If there is none, or several.
        """
        ...

    def histories(self, records: Iterable[TrialRecord], metric: str) -> dict[str, dict[int, float]]:
        """Return one epoch metric of many trials: trial key -> epoch -> value, in order.

        Of two values of one epoch the later one counts.
        """
        ...

    def config(self, record: TrialRecord) -> Json:
        """Return the trial's full training config.

        Raises:
            BadInput: If the record holds none, or it is not valid.
        """
        ...

    def artifact(self, record: TrialRecord, name: str) -> Path:
        """Return the path of an artifact, which may lie in a scratch folder of this object.

        Raises:
            BadInput: If the record does not hold the artifact, or no record can.
        """
        ...

    def artifacts(self, records: Iterable[TrialRecord], name: str) -> dict[str, Path]:
        """Return the paths of the artifacts of one name, by the trial keys of those that hold it.

        Those that cannot be read are left out. A store that is far away gets several at once.

        Raises:
            BadInput: If no record can hold the artifact.
        """
        ...

    def holds(self, record: TrialRecord, name: str) -> bool:
        """Return whether the record holds an artifact of that name."""
        ...

    def location(self, record: TrialRecord, name: str) -> str:
        """Return where an artifact lies: a local path where the store is one, else its address."""
        ...


class ReportPublisher(Protocol):
    """Adds files of a report to a record; every `RecordWriter` is one."""

    def publish_files(self, sweep_id: str, paths: Iterable[Path]) -> None:
        """Add the files of a report to a sweep's own record, in place of those of their names."""
        ...


class RecordWriter(ReportPublisher, Protocol):
    """Writes records, for the recorder and for launches.

    Each method may be repeated after a failure or a kill and then does the rest. A call that fails
    raises `StoreRefused`, whether or not the store answers: `check_reachable` finds out which.
    """

    def check_reachable(self) -> None:
        """Check that the store answers.

        Raises:
            StoreUnreachable: If it does not.
        """
        ...

    def find_trial(self, trial_key: str) -> TrialRef | None:
        """Return the live record of a trial key, the earliest if there are several."""
        ...

    def records_of(self, trial_key: str) -> tuple[str, ...]:
        """Return the ids of all records of a trial key that are not deleted, replaced ones too."""
        ...

    def create_trial(self, spec: TrialSpec, sweep_id: str, time: int) -> str:
        """Create the record of a trial, with its facts, and return its id.

        Args:
            spec: Spec of its first attempt.
            sweep_id: The own record of the sweep that trains it first, for browsing only.
            time: When it started, milliseconds since 1970.
        """
        ...

    def describe_trial(self, record_id: str, spec: TrialSpec) -> None:
        """Write the settings, config and source of a trial. Repeating it does nothing."""
        ...

    def describe_attempt(self, record_id: str, spec: TrialSpec) -> None:
        """Write what another attempt at the same trial may change, such as the device."""
        ...

    def epochs(self, record_id: str) -> frozenset[int]:
        """Return the epochs of which a record has all losses and errors."""
        ...

    def log_epochs(self, record_id: str, epochs: Sequence[tuple[EpochMetrics, int]]) -> None:
        """Write epochs, each with the time of its report; repeated ones are dropped.

        Times are in milliseconds since 1970.
        """
        ...

    def log_metrics(
        self, record_id: str, numbers: Mapping[str, float], time: int, step: int
    ) -> None:
        """Write numbers of one step, if there are any; repeated ones are dropped."""
        ...

    def set_outcome(
        self,
        record_id: str,
        outcome: Outcome,
        *,
        reason: str | None = None,
        epochs: int | None = None,
        time: int | None = None,
    ) -> None:
        """Write a record's outcome, as the last of its facts, as readers go by it.

        Args:
            record_id: The trial's record id.
            outcome: RUNNING removes an earlier end.
            reason: Why the trial did not finish; "" removes an earlier one, None leaves it.
            epochs: Number of recorded epochs; None leaves it as it is.
            time: When it ended, milliseconds since 1970; None is now.
        """
        ...

    def set_final(self, record_id: str, final: FinalRecord) -> None:
        """Write all that a final record says but for its epochs, the outcome last."""
        ...

    def upload(self, record_id: str, path: Path, name: str = "") -> None:
        """Add a file to a record's artifacts, by default under its own name, if it is there."""
        ...

    def recorded_evaluation_keys(self, record_id: str) -> frozenset[str]:
        """Return the keys of the evaluations that a record holds; those do not change."""
        ...

    def record_evaluation(self, record_id: str, key: str, kind: str) -> None:
        """Mark an evaluation as recorded, once all of it has been written.

        Args:
            record_id: The trial's record id.
            key: Key of the evaluation.
            kind: Kind of the evaluation; the names of its metrics begin with it.
        """
        ...

    def is_deleted(self, record_id: str) -> bool:
        """Return whether a record was deleted."""
        ...

    def delete_record(self, record_id: str) -> None:
        """Delete an existing record of a trial or a sweep. Its files may stay."""
        ...

    def mark_replaced(self, trial_keys: Iterable[str]) -> None:
        """Mark the records of trial keys as replaced, so that readers leave them out."""
        ...

    def delete_weights(self, record_id: str) -> FreedWeights:
        """Delete the weights of a record, and check that they are deleted."""
        ...

    def find_sweep(self, sweep: str) -> SweepRef | None:
        """Return a sweep's own record."""
        ...

    def open_sweep(
        self, sweep: str, description: str, labels: Mapping[str, str] = NO_LABELS
    ) -> str:
        """Find or create a sweep's own record and return its id.

        Args:
            sweep: Its name.
            description: What it asks, for people.
            labels: Facts for people, which replace those that the record has.
        """
        ...

    def set_sweep_log(self, sweep_id: str, text: str) -> None:
        """Make a log the current one of a sweep. Earlier ones stay.

        A current log that was lost or damaged is written again. A reader sees the whole old log or
        the whole new one, even if this is killed midway.

        Args:
            sweep_id: The sweep's own record.
            text: The lines with the sweep's definition and the decisions of its plan.
        """
        ...

    def settle_sweep(self, sweep_id: str, exit_code: int | None) -> None:
        """Write how a sweep's launch ended; None marks it as running."""
        ...

    def write_summary(self, sweep_id: str, summary: SweepSummary) -> None:
        """Write the summary that people browse, in place of the last one. No reader uses it.

        Raises:
            StoreRefused: If some of it could not be written; the same call again does the rest.
        """
        ...
