"""What the process that makes evaluations is told of a trial."""

from collections.abc import Sequence

from sweeps.execution.survey.survey import Survey
from sweeps.execution.survey.surveyed_evaluations import SurveyedEvaluation, weights_in_folder
from sweeps.execution.worker.evaluation import EvaluationJob
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.trial_record import ARTIFACT_WEIGHTS, TrialRecord


def evaluation_order(
    survey: Survey,
    spec: TrialSpec,
    record: TrialRecord | None,
    missing: Sequence[SurveyedEvaluation],
) -> EvaluationJob:
    """Return what is told to have a finished trial's evaluations made.

    Args:
        survey: Says where weights are.
        spec: Spec of the trial.
        record: None where only its folder holds it, and the weights with it.
        missing: Which evaluations.

    Raises:
        StoreUnreachable: If the weights are the store's, and it does not answer.
    """
    weights = weights_in_folder(survey.storage, spec.trial_key)
    if weights is None:
        assert record is not None
        weights = survey.store.artifact(record, ARTIFACT_WEIGHTS)
    return EvaluationJob(
        cells=str(survey.storage.cells),
        trial_key=spec.trial_key,
        seed=spec.seed,
        config=spec.config,
        source=spec.source,
        data_fingerprint=spec.data_fingerprint,
        weights=str(weights),
        device="cuda" if record and record.device.startswith("cuda") else "cpu",
        evaluations=tuple(
            {"kind": surveyed.evaluation.kind, **surveyed.evaluation.settings}
            for surveyed in missing
        ),
    )
