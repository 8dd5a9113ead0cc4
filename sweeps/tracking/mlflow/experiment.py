"""A client of MLflow for writing, and the one experiment that all is written to.

Only `MlflowClient` is used, with no retries of its own: MLflow would repeat a POST whose answer was
lost, and so create a run twice.
"""

import logging
import os
from urllib.parse import urlsplit

from mlflow import MlflowClient
from mlflow.entities import LifecycleStage
from mlflow.exceptions import MlflowException

from sweeps.tracking.mlflow.runs import EXPERIMENT

_SERVED_BY_THE_UI = "mlflow-artifacts:/"  # below the folder that the UI is given
_NO_RETRIES = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
_DEFAULTS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ASYNC_LOGGING": "false",
}


def writing_client(tracking_uri: str) -> MlflowClient:
    """Return a client of which every write is sent once, whatever the user's environment says."""
    os.environ.update(_NO_RETRIES)
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)  # tells of new files
    return MlflowClient(tracking_uri=tracking_uri)


def find_or_create_experiment(client: MlflowClient, tracking_uri: str) -> str:
    """Return the experiment's id, restored if somebody has deleted it.

    A store without a server says no place for files: a folder that holds both may be moved.

    Args:
        client: Of the store.
        tracking_uri: Its address.

    Raises:
        MlflowException: If the store does not answer.
    """
    if experiment_id := _found(client):
        return experiment_id
    # a server knows where its artifacts lie; a bare database would put them below the caller
    has_server = urlsplit(tracking_uri).scheme in {"http", "https"}
    location = None if has_server else _SERVED_BY_THE_UI
    try:
        return client.create_experiment(EXPERIMENT, artifact_location=location)
    except MlflowException:
        if experiment_id := _found(client):  # another was faster
            return experiment_id
        raise


def _found(client: MlflowClient) -> str | None:
    experiment = client.get_experiment_by_name(EXPERIMENT)
    if experiment and experiment.lifecycle_stage != LifecycleStage.ACTIVE:
        client.restore_experiment(experiment.experiment_id)
    return experiment.experiment_id if experiment else None
