"""Writing to MLflow: the experiment, a sweep's parent run, and trials' runs found by trial key.

Only `MlflowClient` is used, with no retries of its own: MLflow would repeat a POST whose answer was
lost, and so create a run twice.
"""

import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mlflow import MlflowClient
from mlflow.entities import LifecycleStage, Metric, Param, Run, RunTag, ViewType
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID, MLFLOW_RUN_NAME

from sweeps.records.cell_contents import EpochLine, TrialHead
from sweeps.records.trial_record import (
    ARTIFACT_CONFIG,
    ARTIFACT_SOURCE,
    EPOCH_METRICS,
    SCHEMA_VERSION,
    ConfigDocument,
    Outcome,
)
from sweeps.tracking.mlflow_runs import EXPERIMENT, RUN_STATUS
from sweeps.tracking.record_facts import (
    TAG_ARM,
    TAG_CHECKPOINTING,
    TAG_DATA_FINGERPRINT,
    TAG_DEVICE,
    TAG_EPOCHS,
    TAG_GIT_REVISION,
    TAG_NUM_PARAMETERS,
    TAG_OUTCOME,
    TAG_REPLACED,
    TAG_SCHEMA,
    TAG_SEED,
    TAG_SWEEP,
    TAG_THREADS,
    TAG_TRIAL_KEY,
    TAG_TYPE,
    TAG_VERSIONS,
)

_LONGEST_PARAMETER = 6000  # the store refuses more; config.json holds all of it
_BATCH = 900  # metrics a call; the store takes at most 1,000
_SOURCE_HEAD = "# a sweep's own parts, for reading only, schema_version 1\n"
NO_RETRIES = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
_DEFAULTS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ASYNC_LOGGING": "false",
}


class Tracking:
    """One tracking store, for writing."""

    def __init__(self, tracking_uri: str, artifacts: Path) -> None:
        self.client = _client(tracking_uri)
        self.experiment_id = self._experiment(tracking_uri, artifacts)

    def _experiment(self, tracking_uri: str, artifacts: Path) -> str:
        if found := self._found_experiment():
            return found
        # a server knows where its artifacts lie; a bare database would put them below the caller
        has_server = urlsplit(tracking_uri).scheme in {"http", "https"}
        location = None if has_server else artifacts.as_uri()
        try:
            return self.client.create_experiment(EXPERIMENT, artifact_location=location)
        except MlflowException:
            if found := self._found_experiment():  # another was faster
                return found
            raise

    def _found_experiment(self) -> str | None:
        """Return the experiment's id, restored if somebody has deleted it."""
        found = self.client.get_experiment_by_name(EXPERIMENT)
        if found and found.lifecycle_stage != LifecycleStage.ACTIVE:
            self.client.restore_experiment(found.experiment_id)
        return found.experiment_id if found else None

    def refuse_absence(self) -> None:
        """Return if the store answers.

        Raises:
            MlflowException: If it does not.
        """
        self.client.get_experiment(self.experiment_id)

    def find_trial(self, trial_key: str) -> Run | None:
        """Return the live run of a trial key, the earliest if there are several."""
        found = self.client.search_runs(
            [self.experiment_id],
            filter_string=f"tags.`{TAG_TRIAL_KEY}` = '{trial_key}'",
            run_view_type=ViewType.ACTIVE_ONLY,
            order_by=["attributes.start_time ASC"],
        )
        return next((run for run in found if TAG_REPLACED not in run.data.tags), None)

    def is_gone(self, run_id: str) -> bool:
        """Return whether somebody has deleted a run."""
        try:
            return self.client.get_run(run_id).info.lifecycle_stage != LifecycleStage.ACTIVE
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return True

    def create_trial(self, head: TrialHead, parent_id: str, time: int) -> str:
        """Create the run of a trial and return its id."""
        tags = {
            MLFLOW_PARENT_RUN_ID: parent_id,
            TAG_TYPE: "trial",
            TAG_SCHEMA: str(SCHEMA_VERSION),
            TAG_TRIAL_KEY: head.trial_key,
            TAG_OUTCOME: Outcome.RUNNING.value,
            TAG_SWEEP: head.sweep,
            TAG_ARM: head.arm,
            TAG_SEED: str(head.seed),
        }
        run = self.client.create_run(
            self.experiment_id,
            start_time=time,
            tags=tags,
            run_name=f"{head.arm}, seed {head.seed}",
        )
        return run.info.run_id

    def describe_trial(self, run_id: str, head: TrialHead) -> None:
        """Write what no attempt changes: parameters, config, source. Repeating it does nothing."""
        tags = {
            TAG_DATA_FINGERPRINT: head.data_fingerprint,
            TAG_NUM_PARAMETERS: str(head.num_parameters),
        }
        self.client.log_batch(
            run_id,
            params=[Param(path, text) for path, text in flat_parameters(head.config).items()],
            tags=_tags(tags | provenance_tags(head)),
            synchronous=True,
        )
        document = ConfigDocument(config=head.config).model_dump(mode="json")
        self.client.log_dict(run_id, document, ARTIFACT_CONFIG)
        if head.source:
            self.client.log_text(run_id, _SOURCE_HEAD + head.source, ARTIFACT_SOURCE)

    def set_tags(self, run_id: str, tags: Mapping[str, str]) -> None:
        """Write tags over those that are there."""
        self.client.log_batch(run_id, tags=_tags(tags), synchronous=True)

    def last_epoch(self, run_id: str) -> int:
        """Return the last epoch whose metrics a run has, 0 for none."""
        return min(
            max((metric.step for metric in self.client.get_metric_history(run_id, name)), default=0)
            for name in EPOCH_METRICS
        )

    def log_epochs(self, run_id: str, epochs: Sequence[tuple[EpochLine, int]]) -> None:
        """Write epochs with the times they were told at: a copy sent again is dropped."""
        tags = _tags({TAG_EPOCHS: str(epochs[-1][0].epoch)})
        metrics = [
            Metric(name, value, time, line.epoch)
            for line, time in epochs
            for name, value in line.numbers().items()
        ]
        for start in range(0, len(metrics), _BATCH):
            batch = metrics[start : start + _BATCH]
            self.client.log_batch(run_id, metrics=batch, tags=tags, synchronous=True)

    def log_metrics(self, run_id: str, numbers: Mapping[str, float], time: int, step: int) -> None:
        """Write some numbers of one step, if there are any."""
        metrics = [Metric(name, value, time, step) for name, value in numbers.items()]
        if metrics:
            self.client.log_batch(run_id, metrics=metrics, synchronous=True)

    def set_outcome(
        self, run_id: str, outcome: Outcome, tags: Mapping[str, str], time: int | None = None
    ) -> None:
        """Write a run's outcome as tags and as MLflow's status."""
        self.set_tags(run_id, {**tags, TAG_OUTCOME: outcome.value})
        if outcome is Outcome.RUNNING:
            self.client.update_run(run_id, status=RUN_STATUS[outcome])
        else:
            self.client.set_terminated(run_id, RUN_STATUS[outcome], end_time=time)

    def upload(self, run_id: str, path: Path) -> None:
        """Add a file to a run's artifacts, if it is there."""
        if path.exists():
            self.client.log_artifact(run_id, str(path))

    def find_sweep(self, sweep: str) -> Run | None:
        """Return a sweep's live parent run."""
        found = self.client.search_runs(
            [self.experiment_id],
            filter_string=f"tags.`{TAG_TYPE}` = 'sweep' and tags.`{TAG_SWEEP}` = '{sweep}'",
            order_by=["attributes.start_time ASC"],
            max_results=1,
        )
        return found[0] if found else None

    def sweep_run(self, sweep: str, description: str) -> str:
        """Find or create a sweep's parent run and return its id."""
        if found := self.find_sweep(sweep):
            return found.info.run_id
        tags = {
            TAG_TYPE: "sweep",
            TAG_SCHEMA: str(SCHEMA_VERSION),
            TAG_SWEEP: sweep,
            MLFLOW_RUN_NAME: sweep,
            "mlflow.note.content": description,
        }
        return self.client.create_run(self.experiment_id, tags=tags).info.run_id


def provenance_tags(head: TrialHead) -> dict[str, str]:
    """Return what another attempt at the same trial may change."""
    return {
        TAG_VERSIONS: json.dumps(head.versions, sort_keys=True),
        TAG_GIT_REVISION: head.git_revision,
        TAG_DEVICE: head.hardware or head.device,
        TAG_THREADS: str(head.threads),
        TAG_CHECKPOINTING: str(head.gradient_checkpointing).lower(),
    }


def flat_parameters(config: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return a config as path -> text; a part stands as its kind at its own path."""
    flat: dict[str, str] = {}
    for name, value in config.items():
        if isinstance(value, dict):
            flat[prefix + name] = str(value.get("kind", ""))
            flat |= flat_parameters(value, f"{prefix}{name}.")
        elif name != "kind":
            text = value if isinstance(value, str) else json.dumps(value)
            flat[prefix + name] = text[:_LONGEST_PARAMETER]
    return flat


def _client(tracking_uri: str) -> MlflowClient:
    """Return a client of which every write is sent once, whatever the user's environment says."""
    os.environ.update(NO_RETRIES)
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)  # tells of new files
    return MlflowClient(tracking_uri=tracking_uri)


def _tags(tags: Mapping[str, str]) -> list[RunTag]:
    return [RunTag(name, value[:5000]) for name, value in tags.items()]
