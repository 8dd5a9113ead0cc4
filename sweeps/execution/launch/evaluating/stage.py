"""The evaluations that finished trials lack: found, and recorded once an engine has made them."""

from collections.abc import Sequence
from itertools import groupby

from sweeps.execution.launch.evaluating.evaluation_queue import EvaluationQueue, TrialToEvaluate
from sweeps.execution.launch.flush_records import record_evaluations
from sweeps.execution.launch.progress import Progress
from sweeps.execution.launch.result import EvaluationsMade
from sweeps.execution.survey.folder_states import folder_states
from sweeps.execution.survey.surveyed_evaluations import (
    EvaluationState,
    SurveyedEvaluation,
    count,
    survey_evaluations,
    weights_in_folder,
)
from sweeps.execution.worker.evaluation import EvaluationJob
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.errors import StoreUnreachable
from sweeps.records.trial_record import ARTIFACT_WEIGHTS, TrialRecord


def trials_to_evaluate(progress: Progress) -> list[TrialToEvaluate]:
    """Return the finished trials that lack evaluations which can be made.

    If the tracking store does not answer, there are none, and the next launch makes them.

    Args:
        progress: Progress of the launch.
    """
    definition = progress.definition
    if not definition.manifest.evaluations:
        return []
    cells = {cell.trial_key: cell for cell in reversed(definition.manifest.cells)}
    try:
        planned, records = _surveyed(progress)
        missing = [surveyed for surveyed in planned if surveyed.state is EvaluationState.TO_MAKE]
        trials: list[TrialToEvaluate] = []
        for key, group in groupby(missing, lambda surveyed: surveyed.trial_key):
            own = list(group)
            job = _job(progress, definition.spec(cells[key]), records.get(key), own)
            trials.append(
                TrialToEvaluate(cells[key], job, tuple(surveyed.evaluation for surveyed in own))
            )
    except StoreUnreachable as error:
        progress.is_recorded, progress.error = False, str(error)
        return []
    return trials


def record_made(progress: Progress, queue: EvaluationQueue | None) -> None:
    """Record the evaluations that the store lacks, and note how they ended.

    While trial records wait for the store, the next launch records them.

    Args:
        progress: Progress of the launch; it receives the results of the evaluations.
        queue: The evaluations of this launch, None if it made none.

    Raises:
        KeyboardInterrupt: If it is interrupted.
    """
    if not progress.definition.manifest.evaluations:
        return
    if not progress.is_recorded:
        if queue and (queue.num_made or queue.failures):
            num_known = queue.num_made + len(queue.failures)
            failures = tuple(queue.failures)
            progress.evaluations = EvaluationsMade(
                queue.num_made, queue.num_made, num_known, failures=failures
            )
        return
    try:
        planned, _ = _surveyed(progress)
    except StoreUnreachable as error:
        progress.is_recorded, progress.error = False, str(error)
        return
    to_record = {
        surveyed.trial_key for surveyed in planned if surveyed.state is EvaluationState.TO_RECORD
    }
    if to_record:
        record_evaluations(progress, sorted(to_record))
    num_gone = count(planned, EvaluationState.NOT_AVAILABLE)
    progress.evaluations = EvaluationsMade(
        num_made=queue.num_made if queue else 0,
        num_existing=len(planned) - num_gone - count(planned, EvaluationState.TO_MAKE),
        num_wanted=len(planned),
        num_not_available=num_gone,
        failures=tuple(queue.failures) if queue else (),
    )


def _surveyed(
    progress: Progress,
) -> tuple[tuple[SurveyedEvaluation, ...], dict[str, TrialRecord]]:
    """Return the evaluations as they are now, and the records of the trials.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    manifest, survey = progress.definition.manifest, progress.survey
    keys = list(manifest.cell_keys().values())
    folders, records = folder_states(survey.storage, keys), survey.store.records(keys)
    planned = survey_evaluations(manifest, survey.storage, folders, records, store=survey.store)
    return planned, dict(records)


def _job(
    progress: Progress,
    spec: TrialSpec,
    record: TrialRecord | None,
    missing: Sequence[SurveyedEvaluation],
) -> EvaluationJob:
    """Return what evaluates a trial.

    Args:
        progress: Says where weights are, and keeps those that a server sent.
        spec: Spec of the trial.
        record: None where only its folder holds it, and the weights with it.
        missing: Which evaluations.

    Raises:
        StoreUnreachable: If the weights are the store's, and it does not answer.
    """
    survey = progress.survey
    weights = weights_in_folder(survey.storage, spec.trial_key)
    if weights is None:
        assert record is not None
        store = progress.store_of_weights = progress.store_of_weights or survey.store
        weights = store.artifact(record, ARTIFACT_WEIGHTS)
    return EvaluationJob(
        cells=str(survey.storage.cells),
        trial_key=spec.trial_key,
        seed=spec.seed,
        config=spec.config,
        source=spec.source,
        code=spec.code,
        data_fingerprint=spec.data_fingerprint,
        weights=str(weights),
        evaluations=tuple(
            {"kind": surveyed.evaluation.kind, **surveyed.evaluation.settings}
            for surveyed in missing
        ),
    )
