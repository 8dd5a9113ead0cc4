"""Weights out of MLflow's artifacts, where the store lets them go."""

from mlflow.exceptions import MlflowException

from sweeps.records.errors import BadInput
from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import ARTIFACT_WEIGHTS
from sweeps.tracking.addresses import public
from sweeps.tracking.mlflow.artifacts import Artifacts
from sweeps.tracking.store import FreedWeights


def delete_weights(artifacts: Artifacts, run_id: str) -> FreedWeights:
    """Delete the weights of a run, and look whether they are gone.

    Raises:
        MlflowException: If the store does not answer.
    """
    try:
        size = artifacts.size(run_id, ARTIFACT_WEIGHTS)
    except BadInput as error:  # where they lie is not followed
        return FreedWeights(0, str(error))
    if size is None:
        return FreedWeights(0, "")
    reason = "they are still there after it was asked to"
    try:
        artifacts.delete(run_id, ARTIFACT_WEIGHTS)
    except (MlflowException, NotImplementedError, OSError) as error:
        reason = one_line(public(str(error)))[:200] or type(error).__name__
    if artifacts.size(run_id, ARTIFACT_WEIGHTS) is None:
        return FreedWeights(size, "")
    return FreedWeights(
        0, f"The tracking store does not delete weights, so its copies stay: {reason}."
    )
