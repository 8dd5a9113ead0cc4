"""What a tracking store is: how records are read, and how they are written.

There are three members: MLflow asked by its client, an embedded store of MLflow's read by SQL, and
one in memory. A published contract holds for all (tests/sweeps/tracking/store_contract.py). A store
that is passed to recorder and readers as an argument needs no more than these two protocols.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from sweeps.records.cell_contents import TrialHead
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Json, Outcome, TrialRecord
from sweeps.tracking.record_facts import EpochTold, OutcomeFacts
from sweeps.tracking.shown_sweep import ShowsSweeps


class CurvePoint(NamedTuple):
    """One epoch of a trial. What was not recorded is NaN."""

    epoch: int
    train_loss: float
    validation_loss: float
    validation_error: float


class FoundTrial(NamedTuple):
    """A trial's record as a writer finds it, its last outcome None where it has no valid one."""

    record_id: str
    outcome: Outcome | None


class FoundSweep(NamedTuple):
    """A sweep's own record as a writer finds it."""

    record_id: str
    is_running: bool


class FreedWeights(NamedTuple):
    """What became of recorded weights that were to be deleted.

    Attributes:
        freed_bytes: 0 where there were none, or they are still there.
        complaint: Why they are still there, in one sentence; "" where they are not.
    """

    freed_bytes: int
    complaint: str


class RecordStore(Protocol):
    """Records as a reader sees them; it writes nothing and creates nothing.

    Nothing is asked of the store before the first question. What it holds is untrusted: records
    that do not validate are left out with a logged warning, manifests that do not are refused.
    Records that were set aside or deleted are not there. Every method raises `BadInput` where the
    store is missing and `StoreUnreachable` where it does not answer.
    """

    @property
    def address(self) -> str:
        """What tells this store from others; it may hold a password."""
        ...

    def is_there(self) -> bool:
        """Return False for a store that the first writer has yet to make."""
        ...

    def writer(self) -> "RecordWriter":
        """Open the store for writing, made if it is not there.

        Raises:
            StoreUnreachable: If it does not answer.
        """
        ...

    def publisher(self) -> "ReportPublisher":
        """Return what adds a report's files to a sweep's own record, which is there.

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

    def manifest(self, sweep: str) -> Manifest:
        """Return the sweep's current manifest.

        Raises:
            BadInput: If there is no such sweep, or its manifest is missing or not valid.
        """
        ...

    def current_manifest(self, sweep: str) -> Manifest | None:
        """Return the sweep's manifest, or None where the sweep was never launched.

        Raises:
            BadInput: If the manifest is not valid.
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

    def find(self, prefix: str) -> TrialRecord:
        """Return the record whose trial key begins with `prefix`, or whose id it is.

        Raises:
            BadInput: If there is none, or several.
        """
        ...

    def curve(self, record: TrialRecord) -> list[CurvePoint]:
        """Return the trial's epochs in order."""
        ...

    def histories(self, records: Iterable[TrialRecord], metric: str) -> dict[str, dict[int, float]]:
        """Return one epoch metric of many trials: trial key -> epoch -> value, in order.

        Of two values of one epoch the one told later counts.
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

    def holds(self, record: TrialRecord, name: str) -> bool:
        """Return whether the record holds an artifact of that name."""
        ...

    def location(self, record: TrialRecord, name: str) -> str:
        """Return where an artifact lies: a local path where the store is one, else its address."""
        ...


class ReportPublisher(Protocol):
    """What adds files of a report; every `RecordWriter` is one."""

    def publish_files(self, sweep_id: str, paths: Iterable[Path]) -> None:
        """Add the files of a report to a sweep's own record, in place of those of their names."""
        ...


class RecordWriter(ReportPublisher, ShowsSweeps, Protocol):
    """Records as the recorder and a launch write them.

    Each method may be repeated after a failure or a kill and then does what is left. A call that
    fails raises `StoreRefused`, whether or not the store answers: `refuse_absence` tells.
    """

    def refuse_absence(self) -> None:
        """Return if the store answers.

        Raises:
            StoreUnreachable: If it does not.
        """
        ...

    def find_trial(self, trial_key: str) -> FoundTrial | None:
        """Return the live record of a trial key, the earliest if there are several."""
        ...

    def records_of(self, trial_key: str) -> tuple[str, ...]:
        """Return the ids of all live records of a trial key, those set aside as well."""
        ...

    def create_trial(self, head: TrialHead, sweep_id: str, time: int) -> str:
        """Create the record of a trial, with its facts, and return its id. It is no sweep's.

        Args:
            head: Of its first attempt.
            sweep_id: The own record of the sweep that trains it first, for browsing only.
            time: When it started, milliseconds since 1970.
        """
        ...

    def describe_trial(self, record_id: str, head: TrialHead) -> None:
        """Write the settings, config and source of a trial. Repeating it does nothing."""
        ...

    def describe_attempt(self, record_id: str, head: TrialHead) -> None:
        """Write what another attempt at the same trial may change, such as the device."""
        ...

    def epochs(self, record_id: str) -> frozenset[int]:
        """Return the epochs of which a record has all losses and errors."""
        ...

    def log_epochs(self, record_id: str, epochs: Sequence[EpochTold]) -> None:
        """Write epochs with the times they were told at: a copy sent again is dropped."""
        ...

    def log_metrics(
        self, record_id: str, numbers: Mapping[str, float], time: int, step: int
    ) -> None:
        """Write some numbers of one step, if there are any. A copy sent again is dropped."""
        ...

    def set_outcome(
        self, record_id: str, outcome: Outcome, told: OutcomeFacts, time: int | None = None
    ) -> None:
        """Write a record's outcome and what is told with it: the outcome last, as it counts.

        Args:
            record_id: Of the trial.
            outcome: RUNNING takes an earlier end back.
            told: What is not told stays as it was.
            time: When it ended, milliseconds since 1970; None is now.
        """
        ...

    def upload(self, record_id: str, path: Path) -> None:
        """Add a file to a record's artifacts under its own name, if it is there."""
        ...

    def noted_evaluations(self, record_id: str) -> frozenset[str]:
        """Return the keys of the evaluations that were noted of a record: nothing changes them."""
        ...

    def note_evaluation(self, record_id: str, key: str, kind: str) -> None:
        """Note that a record holds an evaluation, once all of it has been written.

        Args:
            record_id: Of the trial.
            key: Of the evaluation.
            kind: Of the evaluation; its metrics are called by it.
        """
        ...

    def is_gone(self, record_id: str) -> bool:
        """Return whether somebody has deleted a record."""
        ...

    def delete_record(self, record_id: str) -> None:
        """Delete a record that is there, of a trial or a sweep. What files it holds may stay."""
        ...

    def set_aside(self, trial_keys: Iterable[str]) -> None:
        """Mark the records of trial keys as replaced: no reader counts them any more."""
        ...

    def delete_weights(self, record_id: str) -> FreedWeights:
        """Delete the weights of a record, and look whether they are gone."""
        ...

    def find_sweep(self, sweep: str) -> FoundSweep | None:
        """Return a sweep's own record."""
        ...

    def open_sweep(self, sweep: str, description: str) -> str:
        """Find or create a sweep's own record and return its id."""
        ...

    def set_manifest(self, sweep_id: str, text: str) -> None:
        """Make a manifest the current one of a sweep, unless it is. Earlier ones stay.

        One that was lost or damaged since is written again. A reader sees the old one or the new
        one whole, also where this is killed midway.
        """
        ...

    def settle_sweep(self, sweep_id: str, exit_code: int | None) -> None:
        """Write how a sweep's launch ended, None for one that runs."""
        ...
