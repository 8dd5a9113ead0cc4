"""A look at which evaluations of a sweep's trials are there, and where weights are for others."""

from collections.abc import Mapping
from pathlib import Path

from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.plan.evaluations import SurveyedEvaluation, surveyed_evaluations
from sweeps.execution.plan.planner import FolderState
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import ARTIFACT_WEIGHTS, Outcome, TrialRecord
from sweeps.storage.locations import Storage
from sweeps.tracking.store import RecordStore


def survey_evaluations(
    manifest: Manifest,
    storage: Storage,
    folders: Mapping[str, FolderState],
    records: Mapping[str, TrialRecord],
    store: RecordStore,
) -> tuple[SurveyedEvaluation, ...]:
    """Say where the evaluations of a sweep's finished trials stand. Writes nothing.

    Args:
        manifest: What the sweep declares.
        storage: Where the cells' folders are.
        folders: What they say of their trials, by trial key.
        records: By trial key.
        store: Where the records are from; asked for weights that no folder holds.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    outcomes = {key: state.outcome for key, state in folders.items() if state.outcome}
    outcomes |= {key: record.outcome for key, record in records.items() if record.outcome.is_final}
    return standing_evaluations(manifest, storage, outcomes, records, store)


def standing_evaluations(
    manifest: Manifest,
    storage: Storage,
    outcomes: Mapping[str, Outcome],
    records: Mapping[str, TrialRecord],
    store: RecordStore,
) -> tuple[SurveyedEvaluation, ...]:
    """Say where the evaluations stand where it is known how the trials ended. Writes nothing.

    Args:
        manifest: What the sweep declares.
        storage: Where the cells' folders are.
        outcomes: By trial key.
        records: By trial key.
        store: Where the records are from; asked for weights that no folder holds.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    if not manifest.evaluations:
        return ()

    def has_weights(key: str) -> bool:
        return weights_in_folder(storage, key) is not None or (
            key in records and store.holds(records[key], ARTIFACT_WEIGHTS)
        )

    return surveyed_evaluations(
        manifest,
        outcomes,
        recorded={key: record.evaluations.keys() for key, record in records.items()},
        noted={key: CellEvaluations(storage.cells / key).keys() for key in outcomes},
        has_weights=has_weights,
    )


def weights_in_folder(storage: Storage, trial_key: str) -> Path | None:
    """Return the weights that a trial's folder holds, None where it holds none."""
    weights = CellFolder(storage.cells, trial_key).weights
    return weights if weights.exists() else None
