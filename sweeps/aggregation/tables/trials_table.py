"""One row per trial: `trials.csv`, which only trial keys decide, and the rows of frames."""

from collections.abc import Mapping, Sequence

from sweeps.aggregation.rendering.table import Table, Value, data_table
from sweeps.aggregation.results.arms import ArmResults, arms_as_trained, cell_reason
from sweeps.aggregation.results.varied_settings import Setting, varied_settings
from sweeps.records.manifest import Manifest, ManifestCell
from sweeps.records.trial_record import (
    EPOCH_METRICS,
    METRIC_EXTRA_TEST_ERRORS,
    METRIC_TEST_ERROR,
    Outcome,
    TrialRecord,
)

RESULT_COLUMNS = (
    "arm",
    "seed",
    "trial_key",
    "outcome",
    "reason",
    "epochs",
    "stopped_epoch",
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
    "gradient_checkpointing",
    "record_id",
)
SPLIT_COLUMN = "split_seed"
DATA_SET = "data_set"
"""The first column of rows of several data sets."""
MISSING = "missing"
_OF_A_RECORD = tuple(
    name
    for name in (*RESULT_COLUMNS, *COST_COLUMNS)
    if name in TrialRecord.model_fields or hasattr(TrialRecord, name)
)


def trials_table(manifest: Manifest, records: Mapping[str, TrialRecord]) -> Table:
    """Return every cell of the sweep with its trial's values, errors as fractions.

    Each setting that the sweep varies has a column of its own. Of a trial that a search's scheduler
    stopped it holds what the scheduler saw last, whatever
    became of the trial in another sweep. Targets, errors of extra tests and warnings are columns
    only where a trial has such. Holds no times, devices or record ids, so that it is the
    same however the sweep came about.
    """
    rows = trial_rows(manifest, records)
    more = _more_columns(manifest, _trials(manifest, records))
    names = (*RESULT_COLUMNS, *_split(manifest, None), *setting_columns(manifest), *more)
    return data_table("trials", names, ([row[name] for name in names] for row in rows))


def trial_rows(manifest: Manifest, records: Mapping[str, TrialRecord]) -> list[dict[str, Value]]:
    """Return each cell's values by column, arms and seeds in the manifest's order.

    Targets, errors of extra tests and warnings have columns only if a trial has one.
    """
    cells = {(cell.arm, cell.seed): cell for cell in manifest.cells}
    objective = manifest.search.objective if manifest.search else ""
    more = _more_columns(manifest, _trials(manifest, records))
    settings = setting_columns(manifest)
    return [
        _row(arm, cells[arm.arm.name, seed], trial)
        | _split(manifest, seed)
        | {name: by_arm[arm.arm.name] for name, by_arm in settings.items()}
        | _more(cells[arm.arm.name, seed], trial, more)
        | _stop(cells[arm.arm.name, seed], objective)
        for arm in arms_as_trained(manifest, records)
        for seed, trial in arm.trials.items()
    ]


def setting_columns(manifest: Manifest) -> dict[str, dict[str, Setting]]:
    """Return column -> arm -> value of the settings that the sweep varies."""
    return {
        setting_column(path, manifest): by_arm for path, by_arm in varied_settings(manifest).items()
    }


def setting_column(path: str, manifest: Manifest) -> str:
    """Return a setting's column: its path, after `setting.` where another column has that name."""
    taken = {*RESULT_COLUMNS, *COST_COLUMNS, SPLIT_COLUMN, "tested_epoch", "target", "warnings"}
    taken |= {metric.name for metric in manifest.metrics}
    return f"setting.{path}" if path in taken else path


def _split(manifest: Manifest, seed: int | None) -> dict[str, Value]:
    """Return column -> split of a seed, {} where all seeds share a split."""
    return (
        {SPLIT_COLUMN: manifest.splits.get(seed) if seed is not None else None}
        if (manifest.splits)
        else {}
    )


def _trials(manifest: Manifest, records: Mapping[str, TrialRecord]) -> list[TrialRecord]:
    recorded = (records.get(cell.trial_key) for cell in manifest.cells if cell.stopped is None)
    return [trial for trial in recorded if trial is not None]


def _more_columns(manifest: Manifest, trials: Sequence[TrialRecord]) -> tuple[str, ...]:
    """Return the columns of some sweeps: own metrics, errors of extra tests, target, warnings."""
    extra = sorted({name for trial in trials for name in trial.extra_test_errors})
    return (
        *(metric.name for metric in manifest.metrics),
        *(METRIC_EXTRA_TEST_ERRORS + name for name in extra),
        *(["tested_epoch"] if any(trial.tested_epoch for trial in trials) else []),
        *(["target"] if any(trial.target for trial in trials) else []),
        *(["warnings"] if any(trial.warnings for trial in trials) else []),
    )


def _more(cell: ManifestCell, trial: TrialRecord | None, names: Sequence[str]) -> dict[str, Value]:
    if trial is None or cell.stopped is not None:
        return dict.fromkeys(names)
    known: dict[str, Value] = {
        **trial.metrics,
        "tested_epoch": trial.tested_epoch,
        "target": trial.target,
        "warnings": "; ".join(trial.warnings),
    }
    return {name: known.get(name) for name in names}


def _row(arm: ArmResults, cell: ManifestCell, trial: TrialRecord | None) -> dict[str, Value]:
    row: dict[str, Value] = dict.fromkeys((*RESULT_COLUMNS, *COST_COLUMNS))
    if trial is not None:
        row |= {name: getattr(trial, name) for name in _OF_A_RECORD}
    return row | {
        "arm": arm.arm.name,
        "seed": cell.seed,
        "trial_key": cell.trial_key,
        "outcome": MISSING if trial is None else str(trial.outcome),
        "reason": cell_reason(trial),
        "num_parameters": arm.arm.num_parameters,
    }


def _stop(cell: ManifestCell, objective: str) -> dict[str, Value]:
    """Return the values that replace a record's if its trial was stopped, else {}."""
    if cell.stopped is None:
        return {}
    return {
        "outcome": str(Outcome.PRUNED),
        "reason": "stopped by the scheduler",
        "epochs": cell.stopped.epoch,
        "stopped_epoch": cell.stopped.epoch,
        **dict.fromkeys((*EPOCH_METRICS, METRIC_TEST_ERROR)),
        objective: cell.stopped.value,
    }
