"""Weights out of MLflow's artifacts, where the store lets them go."""

from mlflow import MlflowClient
from mlflow.entities import FileInfo, Run
from mlflow.exceptions import MlflowException
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import ARTIFACT_WEIGHTS
from sweeps.tracking.addresses import public
from sweeps.tracking.mlflow.runs import artifacts_of
from sweeps.tracking.store import FreedWeights


def delete_weights(client: MlflowClient, tracking_uri: str, run_id: str) -> FreedWeights:
    """Delete the weights of a run, and look whether they are gone.

    Raises:
        MlflowException: If the store does not answer.
    """
    run = client.get_run(run_id)
    recorded = _recorded_weights(client, run)
    if recorded is None:
        return FreedWeights(0, "")
    reason = "they are still there after it was asked to"
    try:
        repository = get_artifact_repository(artifacts_of(run), tracking_uri=tracking_uri)
        repository.delete_artifacts(ARTIFACT_WEIGHTS)
    except (MlflowException, NotImplementedError, OSError) as error:
        reason = one_line(public(str(error)))[:200] or type(error).__name__
    if _recorded_weights(client, run) is None:
        return FreedWeights(recorded.file_size or 0, "")
    return FreedWeights(
        0, f"The tracking store does not delete weights, so its copies stay: {reason}."
    )


def _recorded_weights(client: MlflowClient, run: Run) -> FileInfo | None:
    listed = client.list_artifacts(run.info.run_id)
    return next((f for f in listed if f.path == ARTIFACT_WEIGHTS and not f.is_dir), None)
