"""Writing to MLflow: the experiment, a sweep's parent run, and trials' runs found by trial key.

Only `MlflowClient` is used, with no retries of its own: MLflow would repeat a POST whose answer was
lost, and so create a run twice.
"""

import json
import logging
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_ENABLE_ASYNC_LOGGING", "false")

from mlflow import MlflowClient
from mlflow.entities import LifecycleStage, Metric, Param, Run, RunTag, ViewType
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID, MLFLOW_RUN_NAME

from sweeps.execution.cells import EpochLine, TrialHead
from sweeps.records import (
    ARTIFACT_CONFIG,
    EPOCH_METRICS,
    EXPERIMENT,
    SCHEMA_VERSION,
    TAG_ARM,
    TAG_DATA_FINGERPRINT,
    TAG_DEVICE,
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
    ConfigDocument,
    Outcome,
)

_LONGEST_PARAMETER = 6000  # the store refuses more; config.json holds all of it
_BATCH = 900  # metrics a call; the store takes at most 1,000


class Tracking:
    """One tracking store, for writing."""

    def __init__(self, tracking_uri: str, artifacts: Path) -> None:
        logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)  # tells of new files
        self.client = MlflowClient(tracking_uri=tracking_uri)
        self.experiment_id = self._experiment(tracking_uri, artifacts)

    def _experiment(self, tracking_uri: str, artifacts: Path) -> str:
        if found := self.client.get_experiment_by_name(EXPERIMENT):
            return found.experiment_id
        # a server knows where its artifacts lie; a bare database would put them below the caller
        location = artifacts.as_uri() if tracking_uri.startswith("sqlite:") else None
        try:
            return self.client.create_experiment(EXPERIMENT, artifact_location=location)
        except MlflowException:
            if found := self.client.get_experiment_by_name(EXPERIMENT):  # another was faster
                return found.experiment_id
            raise

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
        """Write a trial's parameters, provenance and config. Repeating it changes nothing."""
        tags = {
            TAG_DATA_FINGERPRINT: head.data_fingerprint,
            TAG_VERSIONS: json.dumps(head.versions, sort_keys=True),
            TAG_GIT_REVISION: head.git_revision,
            TAG_DEVICE: head.device,
            TAG_THREADS: str(head.threads),
            TAG_NUM_PARAMETERS: str(head.num_parameters),
        }
        self.client.log_batch(
            run_id,
            params=[Param(path, text) for path, text in flat_parameters(head.config).items()],
            tags=_tags(tags),
            synchronous=True,
        )
        document = ConfigDocument(config=head.config).model_dump(mode="json")
        self.client.log_dict(run_id, document, ARTIFACT_CONFIG)

    def last_epoch(self, run_id: str) -> int:
        """Return the last epoch whose metrics a run has, 0 for none."""
        return min(
            max((metric.step for metric in self.client.get_metric_history(run_id, name)), default=0)
            for name in EPOCH_METRICS
        )

    def log_epochs(self, run_id: str, epochs: Iterable[tuple[EpochLine, int]]) -> None:
        """Write epochs with the times they were told at: a copy sent again is dropped."""
        metrics = [
            Metric(name, getattr(line, name), time, line.epoch)
            for line, time in epochs
            for name in EPOCH_METRICS
        ]
        for start in range(0, len(metrics), _BATCH):
            batch = metrics[start : start + _BATCH]
            self.client.log_batch(run_id, metrics=batch, synchronous=True)

    def log_metric(self, run_id: str, name: str, value: float, time: int, step: int) -> None:
        """Write one number."""
        self.client.log_batch(run_id, metrics=[Metric(name, value, time, step)], synchronous=True)

    def set_outcome(
        self, run_id: str, outcome: Outcome, tags: Mapping[str, str], time: int | None = None
    ) -> None:
        """Write a run's outcome as tags and as MLflow's status."""
        self.client.log_batch(
            run_id, tags=_tags({**tags, TAG_OUTCOME: outcome.value}), synchronous=True
        )
        if outcome is Outcome.RUNNING:
            self.client.update_run(run_id, status=outcome.run_status)
        else:
            self.client.set_terminated(run_id, outcome.run_status, end_time=time)

    def upload(self, run_id: str, path: Path, folder: str | None = None) -> None:
        """Add a file to a run's artifacts, if it is there."""
        if path.exists():
            self.client.log_artifact(run_id, str(path), artifact_path=folder)

    def upload_text(self, run_id: str, text: str, name: str) -> None:
        """Add a text to a run's artifacts under a name that may hold folders."""
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / Path(name).name
            path.write_text(text, encoding="utf-8")
            folder = str(Path(name).parent)
            self.upload(run_id, path, None if folder == "." else folder)

    def sweep_run(self, sweep: str, description: str) -> str:
        """Find or create a sweep's parent run and return its id."""
        found = self.client.search_runs(
            [self.experiment_id],
            filter_string=f"tags.`{TAG_TYPE}` = 'sweep' and tags.`{TAG_SWEEP}` = '{sweep}'",
            order_by=["attributes.start_time ASC"],
            max_results=1,
        )
        if found:
            return found[0].info.run_id
        tags = {
            TAG_TYPE: "sweep",
            TAG_SCHEMA: str(SCHEMA_VERSION),
            TAG_SWEEP: sweep,
            MLFLOW_RUN_NAME: sweep,
            "mlflow.note.content": description,
        }
        return self.client.create_run(self.experiment_id, tags=tags).info.run_id


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


def _tags(tags: Mapping[str, str]) -> list[RunTag]:
    return [RunTag(name, value[:5000]) for name, value in tags.items()]
