"""The tracking store as a reader sees it: sweeps, manifests and trial records, validated."""

import logging
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from capsmodel.settings.spelling import hint
from sweeps.records import trial_record as names
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import ConfigDocument, Json, TrialRecord
from sweeps.tracking import record_facts as facts
from sweeps.tracking.artifacts import ArtifactReader
from sweeps.tracking.connection import answering, connect, public, sqlite_path
from sweeps.tracking.histories import CurvePoint, read_curve, read_history
from sweeps.tracking.mlflow_runs import EXPERIMENT, record_of_run

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

_logger = logging.getLogger(__name__)
_PAGE = 1000
_FEW = 100
_ARTIFACTS = frozenset(
    {
        names.ARTIFACT_CONFIG,
        names.ARTIFACT_PREDICTIONS,
        names.ARTIFACT_WEIGHTS,
        names.ARTIFACT_LOG,
        names.ARTIFACT_SOURCE,
    }
)
_TRIALS = f"tags.`{facts.TAG_TYPE}` = 'trial'"
_SWEEPS = f"tags.`{facts.TAG_TYPE}` = 'sweep'"


class RecordStore:
    """Reads what sweeps have left in MLflow and writes nothing.

    Nothing is asked of the store before the first question. What it holds is untrusted: records
    that do not validate are left out with a logged warning, manifests that do not are refused.
    Every method raises `BadInput` where the store is missing and `StoreUnreachable` where it does
    not answer.

    Args:
        tracking_uri: `sqlite:///PATH` or the address of an MLflow server.
    """

    def __init__(self, tracking_uri: str) -> None:
        self.tracking_uri = tracking_uri

    def is_there(self) -> bool:
        """Return False for a SQLite file that does not exist yet; servers count as there."""
        path = sqlite_path(self.tracking_uri)
        return path is None or path.is_file()

    def sweeps(self) -> list[str]:
        """Return the names of all sweeps, sorted."""
        found = {run.data.tags.get(facts.TAG_SWEEP, "") for run in self._runs(_SWEEPS)}
        return sorted(name for name in found if names.SLUG.fullmatch(name))

    def parent_id(self, sweep: str) -> str:
        """Return MLflow's id of the run that holds the sweep's manifest.

        Raises:
            BadInput: If there is no such sweep; the nearest known name is given.
        """
        return self._parent(sweep).info.run_id

    def manifest(self, sweep: str) -> Manifest:
        """Return the sweep's current manifest: the one that a tag of its run names by its hash.

        Raises:
            BadInput: If there is no such sweep, or its manifest is missing or not valid.
        """
        run = self._parent(sweep)
        try:
            manifest = Manifest.model_validate_json(self._artifacts.read(run, _manifest_name(run)))
        except ValidationError as error:
            raise BadInput(
                f"The manifest of sweep '{sweep}' is not valid: {_first(error)}"
            ) from error
        if manifest.sweep != sweep:
            raise BadInput(
                f"The manifest of sweep '{sweep}' is not valid: it is that of '{manifest.sweep}'."
            )
        return manifest

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
        found: dict[str, TrialRecord] = {}
        if not wanted:
            return found
        for count, run in enumerate(self._runs(_TRIALS), start=1):
            if run.data.tags.get(facts.TAG_TRIAL_KEY) in wanted:
                _keep(found, _record(run))
            if count == _PAGE:
                open_keys = {key for key in wanted if not _is_final(found.get(key))}
                if len(open_keys) <= _FEW:
                    return found | self._records_one_by_one(open_keys)
        return found

    def record(self, key: str) -> TrialRecord | None:
        """Return the record of one trial key, None if it has none."""
        return self._records_one_by_one([key]).get(key)

    def find(self, prefix: str) -> TrialRecord:
        """Return the record whose trial key begins with `prefix`, or whose run id it is.

        Raises:
            BadInput: If there is none, or several.
        """
        given = prefix.strip().lower()
        found: dict[str, TrialRecord] = {}
        if given.isalnum():  # so that it cannot end the quotes of the search
            starts = f"{_TRIALS} AND tags.`{facts.TAG_TRIAL_KEY}` LIKE '{given}%'"
            is_run = f"{_TRIALS} AND attributes.run_id = '{given}'"
            found = _by_key(self._runs(starts)) or _by_key(self._runs(is_run))
        if not found:
            raise BadInput(
                f"There is no trial '{prefix}' in {public(self.tracking_uri)}: "
                "give the first characters of its trial key, as in trials.csv, or its run id."
            )
        if len(found) > 1:
            shown = ", ".join(sorted(found)[:5]) + (", ..." if len(found) > 5 else "")
            raise BadInput(f"'{prefix}' is the beginning of {len(found)} trial keys: {shown}.")
        return next(iter(found.values()))

    def curve(self, record: TrialRecord) -> list[CurvePoint]:
        """Return the trial's epochs in order."""
        with answering(self.tracking_uri):
            return read_curve(self._client, record.record_id)

    def histories(self, records: Iterable[TrialRecord], metric: str) -> dict[str, dict[int, float]]:
        """Return one epoch metric of many trials: trial key -> epoch -> value.

        One request a trial, as the store offers no more at once.
        """
        with answering(self.tracking_uri):
            return {
                record.trial_key: read_history(self._client, record.record_id, metric)
                for record in records
            }

    def config(self, record: TrialRecord) -> Json:
        """Return the trial's full training config.

        Raises:
            BadInput: If the record holds none, or it is not valid.
        """
        content = self._artifacts.read(self._run(record.record_id), names.ARTIFACT_CONFIG)
        try:
            return ConfigDocument.model_validate_json(content).config
        except ValidationError as error:
            raise BadInput(
                f"The config of trial {record.trial_key} is not valid: {_first(error)}"
            ) from error

    def artifact(self, record: TrialRecord, name: str) -> Path:
        """Return the path of an artifact, downloaded if need be.

        A download lies in a scratch folder that goes with this object.

        Raises:
            BadInput: If the record does not hold the artifact, or no record can.
        """
        if name not in _ARTIFACTS:
            allowed = ", ".join(sorted(_ARTIFACTS))
            raise BadInput(f"Records hold no artifact '{name}'. Known: {allowed}.")
        return self._artifacts.path(self._run(record.record_id), name)

    def holds(self, record: TrialRecord, name: str) -> bool:
        """Return whether the record holds an artifact of that name."""
        return self._artifacts.holds(self._run(record.record_id), name)

    def location(self, record: TrialRecord, name: str) -> str:
        """Return where an artifact lies: a local path where the store is one, else its address."""
        return self._artifacts.location(self._run(record.record_id), name)

    @cached_property
    def _client(self) -> "MlflowClient":
        return connect(self.tracking_uri)

    @cached_property
    def _artifacts(self) -> ArtifactReader:
        return ArtifactReader(self._client, self.tracking_uri)

    def _runs(self, search: str) -> Iterator["Run"]:
        """Yield the live runs of the experiment that match, the earliest started first."""
        with answering(self.tracking_uri):
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
                yield from (run for run in page if facts.TAG_REPLACED not in run.data.tags)
                token = page.token
                if not token:
                    return

    def _run(self, run_id: str) -> "Run":
        with answering(self.tracking_uri):
            return self._client.get_run(run_id)

    def _records_one_by_one(self, keys: Iterable[str]) -> dict[str, TrialRecord]:
        found: dict[str, TrialRecord] = {}
        for key in keys:
            if names.TRIAL_KEY.fullmatch(key):  # so that it cannot end the quotes of the search
                search = f"{_TRIALS} AND tags.`{facts.TAG_TRIAL_KEY}` = '{key}'"
                found |= _by_key(self._runs(search))
        return found

    def _parent(self, sweep: str) -> "Run":
        if names.SLUG.fullmatch(sweep):  # so that it cannot end the quotes of the search
            search = f"{_SWEEPS} AND tags.`{facts.TAG_SWEEP}` = '{sweep}'"
            for run in self._runs(search):
                return run
        known = self.sweeps()
        raise BadInput(
            f"There is no sweep '{sweep}' in {public(self.tracking_uri)}."
            + hint(sweep, known)
            + (f" Known: {', '.join(known)}." if known else " It holds no sweeps yet.")
        )


def _by_key(runs: Iterable["Run"]) -> dict[str, TrialRecord]:
    found: dict[str, TrialRecord] = {}
    for run in runs:
        _keep(found, _record(run))
    return found


def _keep(found: dict[str, TrialRecord], record: TrialRecord | None) -> None:
    """Note a record, unless its trial has one that started earlier and is as good."""
    if record is None:
        return
    other = found.get(record.trial_key)
    if other is None or (record.outcome.is_final and not other.outcome.is_final):
        found[record.trial_key] = record


def _is_final(record: TrialRecord | None) -> bool:
    return record is not None and record.outcome.is_final


def _record(run: "Run") -> TrialRecord | None:
    try:
        return record_of_run(run)
    except ValidationError as error:
        _logger.warning("Run %s is left out, no valid record: %s", run.info.run_id, _first(error))
        return None


def _first(error: ValidationError) -> str:
    """Return the first of pydantic's complaints as one line."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return " ".join(f"{place}: {first['msg']}".removeprefix(": ").split())[:300]


def _manifest_name(run: "Run") -> str:
    digest = run.data.tags.get(facts.TAG_MANIFEST_HASH, "")
    is_named = len(digest) == 64 and digest.isalnum()
    return names.manifest_artifact(digest) if is_named else names.ARTIFACT_MANIFEST
