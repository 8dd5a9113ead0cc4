"""A tracking store in memory, for tests: it is never written to disk."""

import shutil
import tempfile
import threading
import time as clock
import weakref
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path

from pydantic import ValidationError

from capsmodel.metrics import EpochMetrics
from sweeps.records import trial_record as names
from sweeps.records.cell_contents import FinalRecord, TrialSpec
from sweeps.records.errors import StoreRefused, StoreUnreachable
from sweeps.records.evaluation_names import evaluation_tag, recorded_kinds
from sweeps.records.manifest import Manifest
from sweeps.records.sweep_log import Entry
from sweeps.records.trial_record import (
    ARTIFACT_CONFIG,
    ARTIFACT_SOURCE,
    ARTIFACT_SWEEP_LOG,
    ARTIFACT_WEIGHTS,
    EPOCH_METRICS,
    ConfigDocument,
    Json,
    Outcome,
    TrialRecord,
    sweep_log_artifact,
)
from sweeps.storage.folder import read_named_file
from sweeps.tracking import record_facts as facts
from sweeps.tracking.store import (
    NO_LABELS,
    FreedWeights,
    RecordWriter,
    ReportPublisher,
    SettledSweep,
    SweepRef,
    TrialRef,
)
from sweeps.tracking.sweep_logs import log_digest, log_name
from sweeps.tracking.sweep_summary import SweepSummary
from sweeps.tracking.validation import (
    check_artifact_name,
    counted_records,
    missing_artifact,
    single_record,
    unknown_sweep,
    valid_config,
    valid_log,
    valid_manifest,
    valid_names,
    warn_invalid,
)


@dataclass
class StoredRun:
    """A run that the store holds.

    Attributes:
        started: Milliseconds since 1970, as `ended`.
        points: Metric -> (step, time, value as text) -> value, so that a copy falls on itself.
    """

    record_id: str
    started: int
    facts: dict[str, str]
    ended: int | None = None
    is_running: bool = True
    is_deleted: bool = False
    sweep_id: str = ""
    points: dict[str, dict[tuple[int, int, str], float]] = field(
        default_factory=dict[str, dict[tuple[int, int, str], float]]
    )
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])

    @property
    def is_live(self) -> bool:
        """Whether readers see it."""
        return not self.is_deleted and facts.TAG_REPLACED not in self.facts

    def last_values(self) -> dict[str, float]:
        """Return the value of each metric's last step that was told last."""
        return {name: points[max(points)] for name, points in self.points.items()}

    def history(self, metric: str) -> dict[int, float]:
        """Return a metric, step -> value, in order. Of two values the later counts."""
        return {step: value for (step, _, _), value in sorted(self.points.get(metric, {}).items())}


class MemoryBackend:
    """The records that the readers and writers of one store share.

    Attributes:
        is_unreachable: Whether the store is to behave as one that does not answer.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.is_unreachable = False
        self._runs: dict[str, StoredRun] = {}
        self._lock = threading.RLock()
        self._ids = count(1)

    @contextmanager
    def locked(self) -> Generator[None]:
        """Keep all others out.

        Raises:
            StoreUnreachable: If the store is away.
        """
        with self._lock:
            if self.is_unreachable:
                raise StoreUnreachable(f"The tracking store at {self.address} does not answer.")
            yield

    def add(self, record_facts: dict[str, str], started: int | None = None) -> StoredRun:
        """Create a record, with a name that no other has."""
        begun = round(1000 * clock.time()) if started is None else started
        record = StoredRun(f"{next(self._ids):032x}", begun, record_facts)
        self._runs[record.record_id] = record
        return record

    def live(self, type_of_record: str) -> list[StoredRun]:
        """Return the records of a type that readers see, the earliest started first."""
        records = (
            run
            for run in self._runs.values()
            if run.is_live and run.facts.get(facts.TAG_TYPE) == type_of_record
        )
        return sorted(records, key=lambda run: (run.started, run.record_id))

    def runs_of(self, trial_key: str) -> list[StoredRun]:
        """Return the records of a trial key that nobody has deleted."""
        return [
            run
            for run in self._runs.values()
            if not run.is_deleted and run.facts.get(facts.TAG_TRIAL_KEY) == trial_key
        ]

    def deleted_keys(self) -> frozenset[str]:
        """Return the trial keys of records that others have deleted."""
        return frozenset(
            run.facts.get(facts.TAG_TRIAL_KEY, "")
            for run in self._runs.values()
            if run.is_deleted and facts.TAG_DELETED not in run.facts
        )

    def sweep(self, name: str) -> StoredRun | None:
        """Return a sweep's own record."""
        named = (
            record for record in self.live("sweep") if record.facts.get(facts.TAG_SWEEP) == name
        )
        return next(named, None)

    def clear(self) -> None:
        """Lose all records, as a server does that comes back with an empty database."""
        with self._lock:
            self._runs.clear()

    def get(self, record_id: str) -> StoredRun | None:
        """Return a record, also one that was set aside or deleted."""
        return self._runs.get(record_id)

    def open(self, record_id: str) -> StoredRun:
        """Return a record that is to be written to.

        Raises:
            StoreRefused: If there is none, or it was deleted.
        """
        run = self._runs.get(record_id)
        if run is None or run.is_deleted:
            reason = f"there is no record {record_id}"
            raise StoreRefused(f"The tracking store at {self.address} refuses: {reason}.", reason)
        return run


class MemoryWriter:
    """Writes to the records of one store in memory; a `RecordWriter`."""

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend

    def check_reachable(self) -> None:
        """Return if the store answers.

        Raises:
            StoreUnreachable: If it does not.
        """
        with self._backend.locked():
            pass

    def find_trial(self, trial_key: str) -> TrialRef | None:
        """Return the live record of a trial key, the earliest if there are several."""
        with self._backend.locked():
            run = self._trial(trial_key)
            if run is None:
                return None
            outcome = run.facts.get(facts.TAG_OUTCOME)
            return TrialRef(run.record_id, Outcome(outcome) if outcome in set(Outcome) else None)

    def records_of(self, trial_key: str) -> tuple[str, ...]:
        """Return the ids of all live records of a trial key, those set aside as well."""
        with self._backend.locked():
            return tuple(run.record_id for run in self._backend.runs_of(trial_key))

    def create_trial(self, spec: TrialSpec, sweep_id: str, time: int) -> str:
        """Create the record of a trial and return its id."""
        with self._backend.locked():
            run = self._backend.add(facts.facts_at_creation(spec), time)
            run.sweep_id = sweep_id
            return run.record_id

    def describe_trial(self, record_id: str, spec: TrialSpec) -> None:
        """Write the settings, config and source of a trial. Repeating it does nothing."""
        with self._backend.locked():
            run = self._backend.open(record_id)
            document = ConfigDocument(config=spec.config)
            run.files[ARTIFACT_CONFIG] = document.model_dump_json().encode()
            if spec.source:
                run.files[ARTIFACT_SOURCE] = facts.source_text(spec.source).encode()

    def describe_attempt(self, record_id: str, spec: TrialSpec) -> None:
        """Write what another attempt at the same trial may change."""
        with self._backend.locked():
            self._backend.open(record_id).facts |= facts.facts_of_attempt(spec)

    def epochs(self, record_id: str) -> frozenset[int]:
        """Return the epochs of which a record has all losses and errors."""
        with self._backend.locked():
            run = self._backend.open(record_id)
            return frozenset.intersection(*(frozenset(run.history(name)) for name in EPOCH_METRICS))

    def log_epochs(self, record_id: str, epochs: Sequence[tuple[EpochMetrics, int]]) -> None:
        """Write epochs with the times they were told at: a copy sent again is dropped."""
        with self._backend.locked():
            run = self._backend.open(record_id)
            for result, time in epochs:
                _log(run, result.numbers(), time, result.epoch)
            run.facts[facts.TAG_EPOCHS] = str(epochs[-1][0].epoch)

    def log_metrics(
        self, record_id: str, numbers: Mapping[str, float], time: int, step: int
    ) -> None:
        """Write some numbers of one step, if there are any. A copy sent again is dropped."""
        with self._backend.locked():
            _log(self._backend.open(record_id), numbers, time, step)

    def set_outcome(
        self,
        record_id: str,
        outcome: Outcome,
        *,
        reason: str | None = None,
        epochs: int | None = None,
        time: int | None = None,
    ) -> None:
        """Write a record's outcome."""
        with self._backend.locked():
            run = self._backend.open(record_id)
            ended = round(1000 * clock.time()) if time is None else time
            run.facts |= facts.facts_of_outcome(outcome, reason, epochs)
            run.is_running = outcome is Outcome.RUNNING
            run.ended = None if run.is_running else ended

    def set_final(self, record_id: str, final: FinalRecord) -> None:
        """Write all that a final record says but for its epochs."""
        with self._backend.locked():
            run = self._backend.open(record_id)
            _log(run, facts.numbers_of_final(final), final.time, len(final.curve))
            run.facts |= facts.facts_of_final(final)
            run.is_running, run.ended = False, final.time

    def upload(self, record_id: str, path: Path, name: str = "") -> None:
        """Add a file to a record's artifacts, by default under its own name, if it is there."""
        with self._backend.locked():
            run = self._backend.open(record_id)
            if path.exists():
                run.files[name or path.name] = read_named_file(path)

    def recorded_evaluation_keys(self, record_id: str) -> frozenset[str]:
        """Return the keys of the evaluations that were noted of a record."""
        with self._backend.locked():
            return frozenset(recorded_kinds(self._backend.open(record_id).facts))

    def record_evaluation(self, record_id: str, key: str, kind: str) -> None:
        """Note that a record holds an evaluation."""
        with self._backend.locked():
            self._backend.open(record_id).facts[evaluation_tag(key)] = kind

    def is_deleted(self, record_id: str) -> bool:
        """Return whether somebody has deleted a record."""
        with self._backend.locked():
            run = self._backend.get(record_id)
            return run is None or run.is_deleted

    def delete_record(self, record_id: str) -> None:
        """Delete a record that is there, of a trial or a sweep."""
        with self._backend.locked():
            run = self._backend.open(record_id)
            run.facts[facts.TAG_DELETED] = "true"
            run.is_deleted = True

    def mark_replaced(self, trial_keys: Iterable[str]) -> None:
        """Mark the records of trial keys as replaced: no reader counts them any more."""
        with self._backend.locked():
            for key in trial_keys:
                while run := self._trial(key):
                    run.facts[facts.TAG_REPLACED] = "true"

    def delete_weights(self, record_id: str) -> FreedWeights:
        """Delete the weights of a record."""
        with self._backend.locked():
            files = self._backend.open(record_id).files
            return FreedWeights(len(files.pop(ARTIFACT_WEIGHTS, b"")), "")

    def find_sweep(self, sweep: str) -> SweepRef | None:
        """Return a sweep's own record."""
        with self._backend.locked():
            run = self._backend.sweep(sweep)
            return SweepRef(run.record_id, run.is_running) if run else None

    def open_sweep(
        self, sweep: str, description: str, labels: Mapping[str, str] = NO_LABELS
    ) -> str:
        """Find or create a sweep's own record and return its id."""
        del description, labels  # which people read elsewhere
        with self._backend.locked():
            run = self._backend.sweep(sweep) or self._backend.add(facts.facts_of_sweep(sweep))
            return run.record_id

    def set_sweep_log(self, sweep_id: str, text: str) -> None:
        """Make a log the current one of a sweep, unless it is. Earlier ones stay."""
        digest = log_digest(text)
        with self._backend.locked():
            run = self._backend.open(sweep_id)
            for name in (sweep_log_artifact(digest), ARTIFACT_SWEEP_LOG):
                run.files[name] = text.encode()
            run.facts[facts.TAG_LOG_HASH] = digest

    def settle_sweep(self, sweep_id: str, exit_code: int | None) -> None:
        """Write how a sweep's launch ended, None for one that runs."""
        with self._backend.locked():
            self._backend.open(sweep_id).is_running = exit_code is None

    def write_summary(self, sweep_id: str, summary: SweepSummary) -> None:
        """Write nothing: nobody browses what is in memory."""
        del sweep_id, summary

    def publish_files(self, sweep_id: str, paths: Iterable[Path]) -> None:
        """Add the files of a report to a sweep's own record, in place of those of their names."""
        with self._backend.locked():
            run = self._backend.open(sweep_id)
            run.files |= {f"report/{path.name}": path.read_bytes() for path in paths}

    def _trial(self, trial_key: str) -> StoredRun | None:
        """Return the live record of a trial key that started first."""
        live = self._backend.live("trial")
        return next((run for run in live if run.facts.get(facts.TAG_TRIAL_KEY) == trial_key), None)


def _log(run: StoredRun, numbers: Mapping[str, float], time: int, step: int) -> None:
    for name, value in numbers.items():
        run.points.setdefault(name, {})[step, time, repr(value)] = value


class MemoryStore:
    """Records in memory; a `RecordStore`.

    Attributes:
        backend: What it shares with its writers, for tests that play what others do to a store.
    """

    def __init__(self, address: str = "memory:") -> None:
        self.address = address
        self.backend = MemoryBackend(address)

    def exists(self) -> bool:
        """Return True: there is nothing to be made."""
        return True

    def writer(self) -> RecordWriter:
        """Return what writes to these records."""
        with self.backend.locked():
            return MemoryWriter(self.backend)

    def publisher(self) -> ReportPublisher:
        """Return what adds a report's files to a sweep's own record."""
        return self.writer()

    def settled(self, sweep: str) -> SettledSweep | None:
        """Return None: its writer costs nothing."""
        return None

    def sweeps(self) -> list[str]:
        """Return the names of all sweeps, sorted."""
        with self.backend.locked():
            return valid_names(
                run.facts.get(facts.TAG_SWEEP, "") for run in self.backend.live("sweep")
            )

    def sweep_id(self, sweep: str) -> str:
        """Return the id of the sweep's own record.

        Raises:
            BadInput: If there is no such sweep; the nearest known name is given.
        """
        with self.backend.locked():
            return self._sweep(sweep).record_id

    def sweep_log(self, sweep: str) -> list[Entry]:
        """Return the sweep's definition and the decisions of its plan.

        Raises:
            BadInput: If there is no such sweep, or its log is missing or not valid.
        """
        return valid_log(sweep, self._log_content(sweep))

    def manifest(self, sweep: str) -> Manifest:
        """Return the sweep's current manifest, which its log comes to.

        Raises:
            BadInput: If there is no such sweep, or its log is missing or not valid.
        """
        return valid_manifest(sweep, self._log_content(sweep))

    def _log_content(self, sweep: str) -> bytes:
        with self.backend.locked():
            run = self._sweep(sweep)
            return _content(run, log_name(run.facts))

    def records(self, keys: Iterable[str]) -> dict[str, TrialRecord]:
        """Return the record of each trial key that has one."""
        wanted = frozenset(keys)
        with self.backend.locked():
            return self._counting(
                run
                for run in self.backend.live("trial")
                if run.facts.get(facts.TAG_TRIAL_KEY) in wanted
            )

    def record(self, key: str) -> TrialRecord | None:
        """Return the record of one trial key, None if it has none."""
        return self.records([key]).get(key)

    def deleted(self, keys: Iterable[str]) -> frozenset[str]:
        """Return those trial keys that have a deleted record."""
        with self.backend.locked():
            return frozenset(keys) & self.backend.deleted_keys()

    def first_tests(self, fingerprints: Iterable[str]) -> dict[str, float]:
        """Return when each sweep started its first trial with a test error on some data."""
        wanted, sweeps = frozenset(fingerprints) - {""}, self.sweeps()
        with self.backend.locked():
            starts = [
                (run.facts.get(facts.TAG_SWEEP), run.started / 1000)
                for run in self.backend.live("trial")
                if run.facts.get(facts.TAG_DATA_FINGERPRINT) in wanted
                and names.METRIC_TEST_ERROR in run.points
            ]
        return {sweep: start for sweep, start in reversed(starts) if sweep in sweeps}

    def find(self, prefix: str) -> TrialRecord:
        """Return the record whose trial key begins with `prefix`, or whose id it is.

        Raises:
            BadInput: If there is none, or several.
        """
        wanted = str(prefix).strip().lower()  # what is no text begins no key
        with self.backend.locked():
            live = self.backend.live("trial") if wanted else []
            begins = [
                run for run in live if run.facts.get(facts.TAG_TRIAL_KEY, "").startswith(wanted)
            ]
            of_id = [run for run in live if run.record_id == wanted]
            records = self._counting(begins) or self._counting(of_id)
        return single_record(records, prefix, self.address)

    def histories(self, records: Iterable[TrialRecord], metric: str) -> dict[str, dict[int, float]]:
        """Return one epoch metric of many trials: trial key -> epoch -> value, in order."""
        with self.backend.locked():
            return {
                record.trial_key: self.backend.open(record.record_id).history(metric)
                for record in records
            }

    def config(self, record: TrialRecord) -> Json:
        """Return the trial's full training config.

        Raises:
            BadInput: If the record holds none, or it is not valid.
        """
        with self.backend.locked():
            run = self.backend.open(record.record_id)
            return valid_config(record, _content(run, names.ARTIFACT_CONFIG))

    def artifact(self, record: TrialRecord, name: str) -> Path:
        """Return the path of an artifact's copy, in a scratch folder of this object.

        Raises:
            BadInput: If the record does not hold the artifact, or no record can.
        """
        check_artifact_name(name)
        with self.backend.locked():
            content = _content(self.backend.open(record.record_id), name)
            path = self._scratch / record.record_id / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            return path

    def artifacts(self, records: Iterable[TrialRecord], name: str) -> dict[str, Path]:
        """Return the paths of the artifacts of one name, by the trial keys of those that hold it.

        Raises:
            BadInput: If no record can hold the artifact.
        """
        check_artifact_name(name)
        return {
            record.trial_key: self.artifact(record, name)
            for record in records
            if self.holds(record, name)
        }

    def holds(self, record: TrialRecord, name: str) -> bool:
        """Return whether the record holds an artifact of that name."""
        with self.backend.locked():
            return name in self.backend.open(record.record_id).files

    def location(self, record: TrialRecord, name: str) -> str:
        """Return an address that tells where an artifact lies."""
        return f"{self.address}{record.record_id}/{name}"

    @cached_property
    def _scratch(self) -> Path:
        folder = tempfile.mkdtemp(prefix="capsweep-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def _sweep(self, sweep: str) -> StoredRun:
        if record := self.backend.sweep(sweep):
            return record
        raise unknown_sweep(sweep, self.sweeps(), self.address)

    def _counting(self, run: Iterable[StoredRun]) -> dict[str, TrialRecord]:
        return counted_records(map(_record, run))


def _record(run: StoredRun) -> TrialRecord | None:
    try:
        return facts.record_of(run.record_id, run.facts, run.last_values())
    except ValidationError as error:
        warn_invalid(run.record_id, error)
        return None


def _content(run: StoredRun, name: str) -> bytes:
    if name not in run.files:
        raise missing_artifact(run.record_id, name)
    return run.files[name]
