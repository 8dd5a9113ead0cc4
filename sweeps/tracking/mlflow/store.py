"""MLflow as a tracking store: what readers see of it."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from sweeps.records import trial_record as names
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Json, TrialRecord
from sweeps.tracking import record_facts as facts
from sweeps.tracking.addresses import sqlite_path
from sweeps.tracking.answers import (
    keep,
    leave_out,
    no_sweep,
    only_one,
    refuse_unknown_artifact,
    slugs,
    those_that_count,
    valid_config,
    valid_manifest,
)
from sweeps.tracking.manifests import manifest_name
from sweeps.tracking.mlflow.artifacts import Artifacts, artifacts_of, read_artifact
from sweeps.tracking.mlflow.connection import answering, connect, is_missing
from sweeps.tracking.mlflow.histories import read_curve, read_history
from sweeps.tracking.mlflow.runs import EXPERIMENT, record_of_run, tags_of
from sweeps.tracking.store import CurvePoint, RecordWriter

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

_PAGE = 1000
_FEW = 100
_TRIALS = f"tags.`{facts.TAG_TYPE}` = 'trial'"
_SWEEPS = f"tags.`{facts.TAG_TYPE}` = 'sweep'"


class MlflowStore:
    """Reads what sweeps have left in MLflow; a `RecordStore`.

    Args:
        address: `sqlite:///PATH` or the address of an MLflow server.
        artifacts: Where files of records lie, unless a server keeps them.
    """

    def __init__(self, address: str, artifacts: Path) -> None:
        self.address = address
        self._folder = artifacts

    def is_there(self) -> bool:
        """Return False for a SQLite file that does not exist yet; servers count as there."""
        path = sqlite_path(self.address)
        return path is None or (path.is_file() and not is_missing(path))

    def writer(self) -> RecordWriter:
        """Open the store for writing: its database and experiment are made if need be.

        Raises:
            StoreUnreachable: If it does not answer.
        """
        from sweeps.tracking.mlflow.opened_writer import (
            open_writer,  # as MLflow takes long to import
        )

        return open_writer(self.address, self._folder)

    def sweeps(self) -> list[str]:
        """Return the names of all sweeps, sorted."""
        return slugs(tags_of(run).get(facts.TAG_SWEEP, "") for run in self._runs(_SWEEPS))

    def sweep_id(self, sweep: str) -> str:
        """Return MLflow's id of the run that holds the sweep's manifest.

        Raises:
            BadInput: If there is no such sweep; the nearest known name is given.
        """
        return self._sweep_run(sweep).info.run_id

    def manifest(self, sweep: str) -> Manifest:
        """Return the sweep's current manifest: the one that a tag of its run names by its hash.

        Raises:
            BadInput: If there is no such sweep, or its manifest is missing or not valid.
        """
        run = self._sweep_run(sweep)
        return valid_manifest(
            sweep, read_artifact(self._artifacts, run.info.run_id, manifest_name(tags_of(run)))
        )

    def current_manifest(self, sweep: str) -> Manifest | None:
        """Return the sweep's manifest, or None where the sweep was never launched.

        Raises:
            BadInput: If the manifest is not valid.
        """
        return self.manifest(sweep) if sweep in self.sweeps() else None

    def records(self, keys: Iterable[str]) -> dict[str, TrialRecord]:
        """Return the record of each trial key that has one.

        Replaced runs do not count. Of two runs of one key, a final one counts before others, and
        then the one that started first. The runs are searched page by page, so a call costs about
        2 ms for each run of the store; where only few keys are still open after the first page,
        these are asked for one by one instead.
        """
        wanted = frozenset(keys)
        records: dict[str, TrialRecord] = {}
        if not wanted:
            return records
        for count, run in enumerate(self._runs(_TRIALS), start=1):
            if tags_of(run).get(facts.TAG_TRIAL_KEY) in wanted:
                keep(records, _record(run))
            if count == _PAGE:
                open_keys = {key for key in wanted if not _is_final(records.get(key))}
                if len(open_keys) <= _FEW:
                    return records | self._records_one_by_one(open_keys)
        return records

    def record(self, key: str) -> TrialRecord | None:
        """Return the record of one trial key, None if it has none."""
        return self._records_one_by_one([key]).get(key)

    def find(self, prefix: str) -> TrialRecord:
        """Return the record whose trial key begins with `prefix`, or whose run id it is.

        Raises:
            BadInput: If there is none, or several.
        """
        given = prefix.strip().lower()
        records: dict[str, TrialRecord] = {}
        if given.isalnum():  # so that it cannot end the quotes of the search
            starts = f"{_TRIALS} AND tags.`{facts.TAG_TRIAL_KEY}` LIKE '{given}%'"
            is_run = f"{_TRIALS} AND attributes.run_id = '{given}'"
            records = self._found(starts) or self._found(is_run)
        return only_one(records, prefix, self.address)

    def curve(self, record: TrialRecord) -> list[CurvePoint]:
        """Return the trial's epochs in order."""
        with answering(self.address):
            return read_curve(self._client, record.record_id)

    def histories(self, records: Iterable[TrialRecord], metric: str) -> dict[str, dict[int, float]]:
        """Return one epoch metric of many trials: trial key -> epoch -> value.

        One request a trial, as the store offers no more at once.
        """
        with answering(self.address):
            return {
                record.trial_key: read_history(self._client, record.record_id, metric)
                for record in records
            }

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
        refuse_unknown_artifact(name)
        return self._artifacts.path(record.record_id, name)

    def holds(self, record: TrialRecord, name: str) -> bool:
        """Return whether the record holds an artifact of that name."""
        return self._artifacts.size(record.record_id, name) is not None

    def location(self, record: TrialRecord, name: str) -> str:
        """Return where an artifact lies: a local path where the store is one, else its address."""
        return self._artifacts.location(record.record_id, name)

    @cached_property
    def _client(self) -> "MlflowClient":
        return connect(self.address)

    @cached_property
    def _artifacts(self) -> Artifacts:
        return artifacts_of(self._client, self.address, self._folder)

    def _runs(self, search: str) -> Iterator["Run"]:
        """Yield the live runs of the experiment that match, the earliest started first."""
        with answering(self.address):
            experiment = self._client.get_experiment_by_name(EXPERIMENT)
            if experiment is None or experiment.lifecycle_stage != "active":
                return
            token: str | None = None
            while True:
                page = self._client.search_runs(
                    [experiment.experiment_id],
                    search,
                    max_results=_PAGE,
                    order_by=["attributes.start_time ASC", "attributes.run_id ASC"],
                    page_token=token,
                )
                yield from (run for run in page if facts.TAG_REPLACED not in tags_of(run))
                token = page.token
                if not token:
                    return

    def _found(self, search: str) -> dict[str, TrialRecord]:
        return those_that_count(map(_record, self._runs(search)))

    def _records_one_by_one(self, keys: Iterable[str]) -> dict[str, TrialRecord]:
        records: dict[str, TrialRecord] = {}
        for key in keys:
            if names.TRIAL_KEY.fullmatch(key):  # so that it cannot end the quotes of the search
                search = f"{_TRIALS} AND tags.`{facts.TAG_TRIAL_KEY}` = '{key}'"
                records |= self._found(search)
        return records

    def _sweep_run(self, sweep: str) -> "Run":
        if names.SLUG.fullmatch(sweep):  # so that it cannot end the quotes of the search
            search = f"{_SWEEPS} AND tags.`{facts.TAG_SWEEP}` = '{sweep}'"
            for run in self._runs(search):
                return run
        raise no_sweep(sweep, self.sweeps(), self.address)


def _is_final(record: TrialRecord | None) -> bool:
    return record is not None and record.outcome.is_final


def _record(run: "Run") -> TrialRecord | None:
    try:
        return record_of_run(run)
    except ValidationError as error:
        leave_out(run.info.run_id, error)
        return None
