"""Runs put into MLflow by hand, as earlier versions, people and attackers leave them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mlflow.entities import Metric, Param
from mlflow.tracking import MlflowClient

from sweeps.records import trial_record as names
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord
from sweeps.tracking import record_facts as facts
from sweeps.tracking.mlflow.runs import EXPERIMENT, RUN_STATUS
from tests.sweeps.published import log_text


def put_sweep(
    client: MlflowClient, manifest: Manifest, trials: Iterable[TrialRecord], scratch: Path
) -> str:
    """Write a sweep's parent run and its trials as execution does; return the parent's id."""
    tags = {facts.TAG_TYPE: "sweep", facts.TAG_SWEEP: manifest.sweep}
    parent = client.create_run(experiment_id(client), tags=tags).info.run_id
    put_artifact(client, parent, names.ARTIFACT_SWEEP_LOG, log_text(manifest), scratch)
    for trial in trials:
        put_trial(client, trial)
    return parent


def put_trial(client: MlflowClient, trial: TrialRecord, start: int = 1, **tags: str) -> str:
    fields = {
        facts.TAG_TRIAL_KEY: trial.trial_key,
        facts.TAG_OUTCOME: trial.outcome,
        facts.TAG_SWEEP: trial.sweep,
        facts.TAG_ARM: trial.arm,
        facts.TAG_SEED: trial.seed,
        facts.TAG_REASON: trial.reason,
        facts.TAG_EPOCHS: trial.epochs,
        facts.TAG_NUM_PARAMETERS: trial.num_parameters,
        facts.TAG_DURATION: trial.duration_seconds,
        facts.TAG_PEAK_MEMORY: trial.peak_memory_bytes,
        facts.TAG_DEVICE: trial.device,
        facts.TAG_THREADS: trial.threads,
    }
    all_tags = {tag: str(value) for tag, value in fields.items() if value not in (None, "")}
    all_tags |= {facts.TAG_TYPE: "trial"} | tags
    run = client.create_run(experiment_id(client), start_time=start, tags=all_tags).info.run_id
    metrics = [
        Metric(name, value, epoch, epoch)
        for name in names.EPOCH_METRICS
        for epoch in range(1, trial.epochs + 1)
        if (value := getattr(trial, name)) is not None
    ]
    if trial.test_error is not None:
        metrics.append(Metric(names.METRIC_TEST_ERROR, trial.test_error, 1, trial.epochs))
    client.log_batch(run, metrics=metrics, params=[Param("batch_size", "32")])
    client.set_terminated(run, RUN_STATUS[trial.outcome])
    return run


def put_config(client: MlflowClient, run: str, config: dict[str, Any], scratch: Path) -> None:
    content = json.dumps({"schema_version": 1, "config": config})
    put_artifact(client, run, names.ARTIFACT_CONFIG, content, scratch)


def put_artifact(client: MlflowClient, run: str, name: str, content: str, scratch: Path) -> None:
    (scratch / name).write_text(content)
    client.log_artifact(run, str(scratch / name))


def experiment_id(client: MlflowClient) -> str:
    experiment = client.get_experiment_by_name(EXPERIMENT)
    assert experiment is not None
    return experiment.experiment_id
