"""MLflow as a tracking store: what readers see of it."""

import hashlib
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from sweeps.records import trial_record as names
from sweeps.records.manifest import Manifest
from sweeps.records.sweep_log import Entry
from sweeps.records.trial_record import Json, TrialRecord
from sweeps.tracking import record_facts as facts
from sweeps.tracking.addresses import is_server, sqlite_path
from sweeps.tracking.mlflow.artifacts import (
    Artifacts,
    FolderArtifacts,
    FolderPublisher,
    artifacts_of,
    find_paths,
    read_artifact,
)
from sweeps.tracking.mlflow.client_runs import ClientRuns
from sweeps.tracking.mlflow.connection import may_exist
from sweeps.tracking.mlflow.record_cache import CachedArtifacts, CachedRuns
from sweeps.tracking.mlflow.runs import RunData, Runs
from sweeps.tracking.mlflow.sql_runs import EmbeddedRuns
from sweeps.tracking.store import RecordWriter, ReportPublisher, SettledSweep
from sweeps.tracking.sweep_logs import log_name
from sweeps.tracking.validation import (
    check_artifact_name,
    deleted_sweep,
    deleted_trial,
    single_record,
    unknown_sweep,
    valid_config,
    valid_log,
    valid_manifest,
    valid_names,
)


class MlflowStore:
    """Reads what sweeps have left in MLflow; a `RecordStore`.

    Args:
        address: `sqlite:///PATH` or the address of an MLflow server.
        artifacts: Where files of records lie, unless a server keeps them.
        by_client: Whether MLflow's client is asked also where SQL would be faster.
        caches: Whether what a server says of final records is cached on this machine.
    """

    def __init__(
        self, address: str, artifacts: Path, *, by_client: bool = False, caches: bool = False
    ) -> None:
        self.address = address
        self._folder = artifacts
        self._client = ClientRuns(address)  # not yet connected
        self._runs: Runs = self._client
        if caches and is_server(address):
            self._runs = CachedRuns(self._client)
        elif not by_client and (database := sqlite_path(address)):
            self._runs = EmbeddedRuns(database, self._client)

    def exists(self) -> bool:
        """Return False for a SQLite file that does not exist yet; servers count as there."""
        return may_exist(self.address)

    def writer(self) -> RecordWriter:
        """Open the store for writing: its database and experiment are made if need be.

        Raises:
            StoreUnreachable: If it does not answer.
        """
        from sweeps.tracking.mlflow.mlflow_writer import (
            open_writer,  # as MLflow takes long to import
        )

        return open_writer(self.address, self._folder)

    def publisher(self) -> ReportPublisher:
        """Return what adds a report's files to a sweep's own run.

        Raises:
            StoreUnreachable: If the store does not answer.
        """
        if isinstance(self._artifacts, FolderArtifacts):
            return FolderPublisher(self._artifacts)
        return self.writer()

    def sweeps(self) -> list[str]:
        """Return the names of all sweeps, sorted."""
        return valid_names(run.tags.get(facts.TAG_SWEEP, "") for run in self._runs.sweeps())

    def sweep_id(self, sweep: str) -> str:
        """Return MLflow's id of the run that holds the sweep's manifest.

        Raises:
            BadInput: If there is no such sweep; the nearest known name is given.
        """
        return self._sweep_run(sweep).run_id

    def settled(self, sweep: str) -> SettledSweep | None:
        """Return what the own run of a finished sweep says; None of a server's."""
        runs = self._runs
        settled = runs.settled(sweep) if isinstance(runs, EmbeddedRuns) else None
        if settled is None:
            return None
        digest = hashlib.sha256(self._log_content(sweep)).hexdigest()
        return settled if digest == settled.log_digest else None

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
        """Return the current log: the one that a tag of the sweep's run names by its hash."""
        run = self._sweep_run(sweep)
        return read_artifact(self._artifacts, run.run_id, log_name(run.tags))

    def records(self, keys: Iterable[str]) -> dict[str, TrialRecord]:
        """Return the record of each trial key that has one.

        Replaced runs do not count. Of two runs of one key, a final one counts before others, and
        then the one that started first.
        """
        return self._runs.records(frozenset(keys))

    def record(self, key: str) -> TrialRecord | None:
        """Return the record of one trial key, None if it has none."""
        return self._runs.records({key}).get(key)

    def deleted(self, keys: Iterable[str]) -> frozenset[str]:
        """Return those trial keys that have a deleted record."""
        wanted = frozenset(keys)
        return wanted & self._deleted("trial") if wanted else wanted

    def first_tests(self, fingerprints: Iterable[str]) -> dict[str, float]:
        """Return when each sweep started its first trial with a test error on some data."""
        wanted = frozenset(fingerprints) - {""}
        return self._runs.first_tests(self.sweeps(), wanted) if wanted else {}

    def find(self, prefix: str) -> TrialRecord:
        """Return the record whose trial key begins with `prefix`, or whose run id it is.

        Raises:
            BadInput: If there is none, or several.
        """
        start = str(prefix).strip().lower()  # what is no text begins no key
        records: dict[str, TrialRecord] = {}
        if start.isalnum():  # so that it cannot end the quotes of the search
            begin = self._runs.records_beginning(start)
            records = begin or self._runs.records_of_run(start)
        if not records and start and any(key.startswith(start) for key in self._deleted("trial")):
            raise deleted_trial(prefix, self.address)
        return single_record(records, prefix, self.address)

    def histories(self, records: Iterable[TrialRecord], metric: str) -> dict[str, dict[int, float]]:
        """Return one epoch metric of many trials: trial key -> epoch -> value.

        Of a server one request a trial, as it offers no more at once, several in parallel.
        """
        keys = {record.record_id: record.trial_key for record in records}
        read = self._runs.histories([*keys], [metric])
        return {keys[run_id]: history for run_id, _, history in read}

    def config(self, record: TrialRecord) -> Json:
        """Return the trial's full training config.

        Raises:
            BadInput: If the record holds none, or it is not valid.
        """
        content = read_artifact(self._artifacts, record.record_id, names.ARTIFACT_CONFIG)
        return valid_config(record, content)

    def artifact(self, record: TrialRecord, name: str) -> Path:
        """Return the path of an artifact, downloaded if need be.

        A download lies in a scratch folder that goes with this object.

        Raises:
            BadInput: If the record does not hold the artifact, or no record can.
        """
        check_artifact_name(name)
        return self._artifacts.path(record.record_id, name)

    def artifacts(self, records: Iterable[TrialRecord], name: str) -> dict[str, Path]:
        """Return the paths of the artifacts of one name, by the trial keys of those that hold it.

        Those that cannot be read are left out. Several at once are downloaded.

        Raises:
            BadInput: If no record can hold the artifact.
        """
        check_artifact_name(name)
        keys = {record.record_id: record.trial_key for record in records}
        paths = find_paths(self._artifacts, keys, name)
        return {keys[run_id]: path for run_id, path in paths.items()}

    def holds(self, record: TrialRecord, name: str) -> bool:
        """Return whether the record holds an artifact of that name."""
        return self._artifacts.size(record.record_id, name) is not None

    def location(self, record: TrialRecord, name: str) -> str:
        """Return where an artifact lies: a local path where the store is one, else its address."""
        return self._artifacts.location(record.record_id, name)

    @cached_property
    def _artifacts(self) -> Artifacts:
        client = self._client
        files = artifacts_of(
            lambda: client.client, self.address, self._folder, client.artifact_uris
        )
        return CachedArtifacts(files, self._runs) if isinstance(self._runs, CachedRuns) else files

    def _sweep_run(self, sweep: str) -> RunData:
        name = str(sweep)
        if names.SLUG.fullmatch(name):  # so that it cannot end the quotes of the search
            for run in self._runs.sweeps(name):
                return run
        if name in self._deleted("sweep"):
            raise deleted_sweep(name, self.address)
        raise unknown_sweep(sweep, self.sweeps(), self.address)

    def _deleted(self, kind: str) -> frozenset[str]:
        return self._runs.deleted(kind)
