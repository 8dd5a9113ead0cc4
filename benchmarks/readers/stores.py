"""Stores of any number of trials, as a launch leaves them.

The sweep's own record and the first trial's go through the product's recording code. All others
are copies of that trial's rows and files, each with its own ids, key, arm, seed and numbers.
"""

import hashlib
import json
import random
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from capsmodel.metrics import EpochMetrics
from sweeps.records.cell_contents import FinalRecord, TrialSpec
from sweeps.records.manifest import Manifest
from sweeps.records.sweep_log import Declared, text_of
from sweeps.records.trial_record import Outcome
from sweeps.tracking.opening import open_store
from sweeps.tracking.record_facts import flat_settings
from sweeps.tracking.store import RecordStore
from sweeps.tracking.sweep_logs import publish_log

SWEEP = "many"
SEEDS = 5
EPOCHS = 3
IMAGES = {"test": 360, "validation": 180}
HEALTH = ("gradient_norm", "gradient_norm_max", "class_loss", "dead_capsules", "low_beliefs")
_TABLES = ("runs", "tags", "params", "metrics", "latest_metrics")
_START = 1_795_294_181_856


def make_store(storage: Path, num_trials: int) -> None:
    """Write a finished design of five seeds an arm, 20 settings and 10 metrics a trial.

    Args:
        storage: A folder that is not there.
        num_trials: A multiple of five.
    """
    storage.mkdir(parents=True)
    manifest = manifest_of(num_trials)
    store = open_store(None, storage)
    log = text_of([Declared(manifest=manifest)])
    sweep_id = publish_log(store.writer(), manifest, log)
    errors = drawn_errors(manifest)
    first = _first_trial(store, manifest, sweep_id, storage, errors[0])
    store.writer().settle_sweep(sweep_id, 0)
    _copies(storage, first, manifest, errors)


def manifest_of(num_trials: int) -> Manifest:
    num_arms = num_trials // SEEDS
    names = [f"arm {number}" for number in range(num_arms)]
    arms = [
        {
            "name": name,
            "config": config_of(number),
            "changes": {"optimiser.learning_rate": config_of(number)["optimiser"]["learning_rate"]},
            "num_parameters": 3544 + number,
        }
        for number, name in enumerate(names)
    ]
    cells = [
        {"arm": name, "seed": seed, "trial_key": key_of(name, seed)}
        for name in names
        for seed in range(SEEDS)
    ]
    content = {"sweep": SWEEP, "baseline": names[0], "arms": arms, "seeds": list(range(SEEDS))}
    return Manifest.model_validate(content | {"cells": cells})


def config_of(number: int) -> dict[str, Any]:
    """Return a config of 20 settings."""
    routing = {"kind": "dynamic", "iterations": 1 + number % 5, "bias": False, "gradient": "all"}
    return {
        "data": {"kind": "digits", "validation_fraction": 0.125, "split_seed": 0},
        "model": {"kind": "capsnet", "conv_channels": 8, "primary_dim": 4, "routing": routing},
        "loss": {"kind": "margin", "positive_margin": 0.9, "negative_margin": 0.1},
        "optimiser": {"kind": "adam", "learning_rate": 1e-5 * (1 + number), "beta1": 0.9},
        "stopping": {"kind": "fixed_epochs", "epochs": EPOCHS},
        "batch_size": 512,
        "augmentation": {"kind": "none"},
    }


def key_of(arm: str, seed: int) -> str:
    return hashlib.sha256(f"{arm}/{seed}".encode()).hexdigest()[:20]


def drawn_errors(manifest: Manifest) -> list[dict[str, int]]:
    """Return how many images each trial gets wrong, by split."""
    chance = random.Random(0)
    centres = {arm.name: chance.uniform(0.05, 0.3) for arm in manifest.arms}
    return [
        {split: round(n * centres[cell.arm] * chance.uniform(0.9, 1.1)) for split, n in _images()}
        for cell in manifest.cells
    ]


def _images() -> Sequence[tuple[str, int]]:
    return tuple(IMAGES.items())


def predictions(wrong: dict[str, int], seed: int) -> bytes:
    """Return the predictions of a trial that errs on so many images."""
    chance, tensors = np.random.default_rng(seed), {}
    for split, start in (("test", ""), ("validation", "validation_")):
        labels = np.arange(IMAGES[split], dtype=np.uint8) % 10
        classes = labels.copy()
        places = chance.permutation(IMAGES[split])[: wrong[split]]
        classes[places] = (labels[places] + 1) % 10
        tensors |= {f"{start}predictions": classes, f"{start}labels": labels}
    return save(tensors)


def _first_trial(
    store: RecordStore, manifest: Manifest, sweep_id: str, storage: Path, wrong: dict[str, int]
) -> str:
    """Record the first cell's trial as the recorder does, and return its id."""
    cell, arm, writer = manifest.cells[0], manifest.arms[0], store.writer()
    spec = TrialSpec(
        trial_key=cell.trial_key,
        sweep=SWEEP,
        arm=cell.arm,
        seed=cell.seed,
        config=arm.config,
        data_fingerprint="8" * 64,
        num_parameters=arm.num_parameters,
        hardware="cpu: a processor",
        versions=dict.fromkeys(("capsweep", "mlflow", "numpy", "ray", "torch"), "1.2.3"),
    )
    assert len(flat_settings(arm.config)) == 20
    record_id = writer.create_trial(spec, sweep_id, _START)
    writer.describe_trial(record_id, spec)
    health: dict[str, float] = dict.fromkeys(HEALTH, 0.25)
    error = wrong["validation"] / IMAGES["validation"]
    lines = [
        EpochMetrics(
            epoch=epoch,
            train_loss=0.5,
            validation_loss=0.5,
            validation_error=error,
            health=health,
            metrics={"own": 0.5},
        )
        for epoch in range(1, EPOCHS + 1)
    ]
    writer.log_epochs(record_id, [(line, _START + line.epoch) for line in lines])
    final = FinalRecord(
        head=spec,
        outcome=Outcome.FINISHED,
        curve=tuple(lines),
        test_error=wrong["test"] / IMAGES["test"],
        duration_seconds=0.593,
        peak_memory_bytes=12_066_816,
        time=_START + EPOCHS,
        fence=1,
    )
    writer.set_final(record_id, final)
    for name, content in (("predictions.safetensors", predictions(wrong, 0)), ("log.txt", b"ok\n")):
        (storage / name).write_bytes(content)
        writer.upload(record_id, storage / name)
        (storage / name).unlink()
    return record_id


def _copies(
    storage: Path, first: str, manifest: Manifest, errors: Sequence[dict[str, int]]
) -> None:
    artifacts = storage / "artifacts"
    arms = {arm.name: arm for arm in manifest.arms}
    with closing(sqlite3.connect(storage / "mlflow.db")) as database, database:
        rows = {table: _rows(database, table, first) for table in _TABLES}
        for number, (cell, wrong) in enumerate(zip(manifest.cells, errors, strict=True)):
            if number == 0:
                continue
            run_id = hashlib.md5(cell.trial_key.encode()).hexdigest()
            config = arms[cell.arm].config
            tags = {
                "capsweep.trial_key": cell.trial_key,
                "capsweep.arm": cell.arm,
                "capsweep.seed": str(cell.seed),
                "mlflow.runName": f"{cell.arm}, seed {cell.seed}",
                "capsweep.num_parameters": str(arms[cell.arm].num_parameters),
            }
            metrics = {f"{split}_error": wrong[split] / num for split, num in IMAGES.items()}
            values = {"tags": tags, "params": flat_settings(config)}
            values |= {"metrics": metrics, "latest_metrics": metrics}
            for table in _TABLES:
                _insert(database, table, rows[table], run_id, values.get(table, {}), number)
            folder = artifacts / run_id / "artifacts"
            shutil.copytree(artifacts / first / "artifacts", folder)
            document = json.dumps({"schema_version": 1, "config": config}, indent=2)
            (folder / "config.json").write_text(document)
            (folder / "predictions.safetensors").write_bytes(predictions(wrong, cell.seed))


def _rows(database: sqlite3.Connection, table: str, run_id: str) -> list[dict[str, Any]]:
    database.row_factory = sqlite3.Row
    return [dict(row) for row in database.execute(_of_run(table), (run_id,))]


def _of_run(table: str) -> str:
    return f"select * from {table} where run_uuid = ?"


def _insert(
    database: sqlite3.Connection,
    table: str,
    rows: Sequence[dict[str, Any]],
    run_id: str,
    values: dict[str, Any],
    number: int,
) -> None:
    """Insert a trial's rows, which are the first one's but for ids, times and some values."""
    later = dict.fromkeys(("start_time", "end_time", "timestamp"), 1000 * number)
    made = []
    for row in rows:
        changes = {name: row[name] + more for name, more in later.items() if row.get(name)}
        changes |= {"run_uuid": run_id} | (
            {"value": values[row["key"]]} if row.get("key") in values else {}
        )
        if table == "runs":
            changes |= {"artifact_uri": f"mlflow-artifacts:/{run_id}/artifacts"}
        made.append([(row | changes)[name] for name in row])
    marks = ", ".join("?" * len(rows[0]))
    database.executemany(f"insert into {table} values ({marks})", made)
