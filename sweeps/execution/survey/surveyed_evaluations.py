"""The state of each evaluation of a sweep's finished trials, and whether weights exist for it."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.survey.surveyed_cells import FolderState
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.trial_record import ARTIFACT_WEIGHTS, Outcome, TrialRecord
from sweeps.storage.locations import Storage
from sweeps.tracking.store import RecordStore


class EvaluationState(StrEnum):
    """The state of an evaluation of a finished trial."""

    RECORDED = "recorded"
    TO_RECORD = "to record"
    TO_MAKE = "to make"
    NOT_AVAILABLE = "not available"


@dataclass(frozen=True)
class SurveyedEvaluation:
    """An evaluation of one finished trial, and its state."""

    trial_key: str
    evaluation: ManifestEvaluation
    state: EvaluationState


def surveyed_evaluations(
    manifest: Manifest,
    outcomes: Mapping[str, Outcome],
    *,
    recorded: Mapping[str, Collection[str]],
    noted: Mapping[str, Collection[str]],
    has_weights: Callable[[str], bool],
) -> tuple[SurveyedEvaluation, ...]:
    """Return the state of every evaluation of every finished trial of a sweep.

    A trial that the sweep's scheduler stopped has none, whatever became of it in another sweep;
    nor has one that diverged, failed or has not ended.

    Args:
        manifest: What the sweep declares.
        outcomes: By trial key, as far as known.
        recorded: Trial key -> keys of the evaluations that its record holds.
        noted: Trial key -> keys of the evaluations that its cell's folder holds.
        has_weights: Whether a trial's weights exist; called only if an evaluation is missing.
    """
    finished = dict.fromkeys(
        cell.trial_key
        for cell in manifest.cells
        if cell.stopped is None and outcomes.get(cell.trial_key) is Outcome.FINISHED
    )

    def state_of(trial: str, key: str) -> EvaluationState:
        if key in recorded.get(trial, ()):
            return EvaluationState.RECORDED
        if key in noted.get(trial, ()):
            return EvaluationState.TO_RECORD
        is_possible = has_weights(trial)
        return EvaluationState.TO_MAKE if is_possible else EvaluationState.NOT_AVAILABLE

    return tuple(
        SurveyedEvaluation(trial, evaluation, state_of(trial, evaluation.evaluation_key))
        for trial in finished
        for evaluation in manifest.evaluations
    )


def count(planned: Iterable[SurveyedEvaluation], state: EvaluationState) -> int:
    """Return how many evaluations are in a state."""
    return sum(evaluation.state is state for evaluation in planned)


def survey_evaluations(
    manifest: Manifest,
    storage: Storage,
    folders: Mapping[str, FolderState],
    records: Mapping[str, TrialRecord],
    *,
    store: RecordStore,
) -> tuple[SurveyedEvaluation, ...]:
    """Return the state of the evaluations of a sweep's finished trials. Writes nothing.

    Args:
        manifest: What the sweep declares.
        storage: Where the cells' folders are.
        folders: Their states, by trial key.
        records: Records by trial key.
        store: The store of the records; asked for weights that no folder holds.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    outcomes = {key: state.outcome for key, state in folders.items() if state.outcome}
    outcomes |= {key: record.outcome for key, record in records.items() if record.outcome.is_final}
    return evaluations_by_outcome(manifest, storage, outcomes, records, store=store)


def evaluations_by_outcome(
    manifest: Manifest,
    storage: Storage,
    outcomes: Mapping[str, Outcome],
    records: Mapping[str, TrialRecord],
    *,
    store: RecordStore,
) -> tuple[SurveyedEvaluation, ...]:
    """Return the evaluations of trials whose outcomes are known. Writes nothing.

    Args:
        manifest: What the sweep declares.
        storage: Where the cells' folders are.
        outcomes: Outcomes by trial key.
        records: Records by trial key.
        store: The store of the records; asked for weights that no folder holds.

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
    """Return the weights in a trial's folder, None if there are none."""
    weights = CellFolder(storage.cells, trial_key).weights
    return weights if weights.exists() else None
