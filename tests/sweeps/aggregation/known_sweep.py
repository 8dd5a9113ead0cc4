"""A small sweep whose tables are known, and a way to put any sweep into an MLflow store."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mlflow.entities import Metric, Param
from mlflow.tracking import MlflowClient

from sweeps.records import trial_record as names
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome, TrialRecord
from sweeps.tracking import record_facts as facts
from sweeps.tracking.mlflow_runs import EXPERIMENT, RUN_STATUS

IMAGES = 360


def trial_key(arm: str, seed: int) -> str:
    return hashlib.sha256(f"{arm}/{seed}".encode()).hexdigest()[:20]


def manifest_of(
    arms: Iterable[str], seeds: Iterable[int] = (0, 1, 2), sweep: str = "known", **more: Any
) -> Manifest:
    arms, seeds = list(arms), list(seeds)
    content = {
        "sweep": sweep,
        "baseline": arms[0],
        "arms": [
            {"name": name, "config": {"batch_size": 32 + place}, "num_parameters": 1000 + place}
            for place, name in enumerate(arms)
        ],
        "seeds": seeds,
        "cells": [
            {"arm": arm, "seed": seed, "trial_key": trial_key(arm, seed)}
            for arm in arms
            for seed in seeds
        ],
    }
    return Manifest.model_validate(content | more)


def finished(arm: str, seed: int, wrong: int, **more: Any) -> TrialRecord:
    """Return a finished trial that gets `wrong` of the test images wrong."""
    content: dict[str, Any] = {
        "record_id": f"run-{trial_key(arm, seed)}",
        "trial_key": trial_key(arm, seed),
        "outcome": Outcome.FINISHED,
        "sweep": "known",
        "arm": arm,
        "seed": seed,
        "epochs": 15,
        "num_parameters": 1000,
        "duration_seconds": 6.5 + seed,
        "peak_memory_bytes": (300 + seed) * 2**20,
        "device": "cpu",
        "threads": 1,
    }
    numbers = {
        "train_loss": wrong / 1000,
        "validation_loss": wrong / 900,
        "validation_error": wrong / 600,
        "test_error": wrong / IMAGES,
    }
    told = {name: more.pop(name) for name in numbers if name in more}
    told |= {f"test_error.{name}": e for name, e in more.pop("extra_test_errors", {}).items()}
    content["metrics"] = {name: v for name, v in (numbers | told).items() if v is not None}
    return TrialRecord.model_validate(content | more)


def with_metrics(trial: TrialRecord, **changes: float | None) -> TrialRecord:
    """Return a trial with other metrics; None takes one away."""
    metrics = {name: v for name, v in (trial.metrics | changes).items() if v is not None}
    return trial.model_copy(update={"metrics": metrics})


def unfinished(arm: str, seed: int, outcome: Outcome, reason: str) -> TrialRecord:
    return finished(
        arm,
        seed,
        50,
        outcome=outcome,
        reason=reason,
        test_error=None,
        epochs=4,
        validation_error=0.5,
    )


def by_key(*trials: TrialRecord) -> dict[str, TrialRecord]:
    return {trial.trial_key: trial for trial in trials}


def known_sweep() -> tuple[Manifest, dict[str, TrialRecord]]:
    """Return a sweep with every kind of cell: identical, failed, diverged, missing, unfinished."""
    manifest = manifest_of(
        ["three rounds", "one round", "uniform", "no decoder", "wild", "late"],
        description="Which choice matters?",
    )
    wrong = {"three rounds": (6, 7, 8), "one round": (9, 9, 12), "uniform": (9, 9, 12)}
    wrong["no decoder"] = (5, 9, 8)
    trials = [finished(arm, seed, n) for arm, row in wrong.items() for seed, n in enumerate(row)]
    return manifest, by_key(
        *trials,
        unfinished("wild", 0, Outcome.DIVERGED, "the loss was nan in epoch 4"),
        unfinished("wild", 1, Outcome.FAILED, "ValueError: no such layer"),
        finished("wild", 2, 30),
        unfinished("late", 1, Outcome.INTERRUPTED, ""),
        unfinished("late", 2, Outcome.PRUNED, "hopeless"),
    )


def put_sweep(
    client: MlflowClient, manifest: Manifest, trials: Iterable[TrialRecord], scratch: Path
) -> str:
    """Write a sweep's parent run and its trials as execution does; return the parent's id."""
    tags = {facts.TAG_TYPE: "sweep", facts.TAG_SWEEP: manifest.sweep}
    parent = client.create_run(experiment_id(client), tags=tags).info.run_id
    put_artifact(client, parent, names.ARTIFACT_MANIFEST, manifest.model_dump_json(), scratch)
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
    given = {tag: str(value) for tag, value in fields.items() if value not in (None, "")}
    given |= {facts.TAG_TYPE: "trial"} | tags
    run = client.create_run(experiment_id(client), start_time=start, tags=given).info.run_id
    metrics = [
        Metric(name, value, epoch, epoch)
        for name, value in trial.metrics.items()
        for epoch in ([trial.epochs] if name.startswith("test") else range(1, trial.epochs + 1))
    ]
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
