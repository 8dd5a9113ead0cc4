"""One row a trial: `trials.csv`, which only trial keys decide, and the full list for queries."""

from collections.abc import Mapping

from sweeps.aggregation.arms import ArmResults, arm_results, cell_reason
from sweeps.aggregation.csv_text import csv_text
from sweeps.aggregation.table import Value
from sweeps.manifest import Manifest
from sweeps.records import TrialRecord

RESULT_COLUMNS = (
    "arm",
    "seed",
    "trial_key",
    "outcome",
    "reason",
    "epochs",
    "train_loss",
    "validation_loss",
    "validation_error",
    "test_error",
)
COST_COLUMNS = (
    "num_parameters",
    "duration_seconds",
    "peak_memory_bytes",
    "device",
    "threads",
    "record_id",
)
MISSING = "missing"


def trials_csv(manifest: Manifest, records: Mapping[str, TrialRecord]) -> str:
    """Return every cell of the sweep with its trial's last-epoch figures, errors as fractions.

    Holds no times, devices or record ids, so that it is the same however the sweep came about.
    """
    rows = trial_rows(manifest, records)
    return csv_text(RESULT_COLUMNS, ([row[name] for name in RESULT_COLUMNS] for row in rows))


def trial_rows(manifest: Manifest, records: Mapping[str, TrialRecord]) -> list[dict[str, Value]]:
    """Return a mapping a cell, arms and seeds in the manifest's order, with all columns."""
    keys = manifest.cell_keys()
    return [
        _row(arm, seed, keys[arm.arm.name, seed], trial)
        for arm in arm_results(manifest, records)
        for seed, trial in arm.trials.items()
    ]


def _row(arm: ArmResults, seed: int, trial_key: str, trial: TrialRecord | None) -> dict[str, Value]:
    row: dict[str, Value] = dict.fromkeys((*RESULT_COLUMNS, *COST_COLUMNS))
    if trial is not None:
        row |= {name: getattr(trial, name) for name in row if name in TrialRecord.model_fields}
    return row | {
        "arm": arm.arm.name,
        "seed": seed,
        "trial_key": trial_key,
        "outcome": MISSING if trial is None else str(trial.outcome),
        "reason": cell_reason(trial),
        "num_parameters": arm.arm.num_parameters,
    }
