"""A small sweep whose tables are known, and a way to put any sweep into a store."""

import hashlib
from collections.abc import Iterable
from typing import Any

from capsmodel.metrics import EpochMetrics
from sweeps.records.cell_contents import FinalRecord, TrialSpec
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import EPOCH_METRICS, Outcome, TrialRecord
from sweeps.tracking.store import RecordStore
from tests.sweeps.published import publish_manifest

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
    changed = {name: more.pop(name) for name in numbers if name in more}
    changed |= {f"test_error.{name}": e for name, e in more.pop("extra_test_errors", {}).items()}
    content["metrics"] = {name: v for name, v in (numbers | changed).items() if v is not None}
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


def put_sweep(store: RecordStore, manifest: Manifest, trials: Iterable[TrialRecord]) -> str:
    """Write a sweep's own record and its trials' as execution does; return the id of its own."""
    sweep_id = publish_manifest(store.writer(), manifest)
    for trial in trials:
        put_trial(store, trial)
    return sweep_id


def put_trial(store: RecordStore, trial: TrialRecord, start: int = 1) -> str:
    """Write a trial's record as the recorder does and return its id."""
    writer, spec = store.writer(), spec_of(trial)
    record_id = writer.create_trial(spec, "", start)
    writer.describe_trial(record_id, spec)
    epochs = [(_epoch(trial, number), number) for number in range(1, trial.epochs + 1)]
    if epochs:
        writer.log_epochs(record_id, epochs)
    of_the_end = {name: value for name, value in trial.metrics.items() if name.startswith("test")}
    writer.log_metrics(record_id, of_the_end, 1, trial.epochs)
    ended: dict[str, Any] = {"reason": trial.reason, "time": start + 1}
    if trial.duration_seconds is None:
        writer.set_outcome(record_id, trial.outcome, epochs=trial.epochs, **ended)
        return record_id
    final = FinalRecord(
        head=spec,
        outcome=trial.outcome,
        curve=tuple(metrics for metrics, _ in epochs),
        duration_seconds=trial.duration_seconds,
        peak_memory_bytes=trial.peak_memory_bytes,
        fence=1,
        **ended,
    )
    writer.set_final(record_id, final)
    return record_id


def put_config(store: RecordStore, record_id: str, config: dict[str, Any]) -> None:
    """Write the config of a trial that is there."""
    store.writer().describe_trial(record_id, spec_of(store.find(record_id), config))


def spec_of(trial: TrialRecord, config: dict[str, Any] | None = None) -> TrialSpec:
    return TrialSpec(
        trial_key=trial.trial_key,
        sweep=trial.sweep,
        arm=trial.arm,
        seed=trial.seed,
        config=config or {},
        num_parameters=trial.num_parameters or 0,
        device=trial.device or "cpu",
        threads=trial.threads or 1,
        data_fingerprint=trial.data_fingerprint,
    )


def _epoch(trial: TrialRecord, number: int) -> EpochMetrics:
    return EpochMetrics(number, *(trial.metrics[name] for name in EPOCH_METRICS))
