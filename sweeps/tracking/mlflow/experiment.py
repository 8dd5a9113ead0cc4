"""A client of MLflow for writing, and the one experiment that all is written to.

Only `MlflowClient` is used. It asks again by itself where a server could not answer. It would
repeat a POST whose answer was lost too, and so create a run twice: what creates is sent once, and
what came of it is looked for before it is sent again.
"""

import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import urlsplit

from mlflow import MlflowClient
from mlflow.entities import LifecycleStage
from mlflow.exceptions import MlflowException, RestException

from sweeps.tracking.mlflow.connection import UNPOOLED, set_client_environment
from sweeps.tracking.mlflow.runs import EXPERIMENT
from sweeps.tracking.proxies import bypass_proxies_on_loopback

_SERVED_BY_THE_UI = "mlflow-artifacts:/"  # below the folder that the UI is given
_RETRIES = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"
_PAUSES = (0.1, 0.5, 2.0)  # seconds before what creates is sent again
Made = TypeVar("Made")
_DEFAULTS = {
    **UNPOOLED,
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ASYNC_LOGGING": "false",
}


def client_for_writing(tracking_uri: str) -> MlflowClient:
    """Return a client of our patience, whatever the user's environment says."""
    bypass_proxies_on_loopback(tracking_uri)
    set_client_environment(_DEFAULTS)
    return MlflowClient(tracking_uri=tracking_uri)


def find_or_create_experiment(client: MlflowClient, tracking_uri: str) -> str:
    """Return the experiment's id, restored if somebody has deleted it.

    A store without a server says no place for files: a folder that holds both may be moved.

    Args:
        client: Client of the store.
        tracking_uri: Its address.

    Raises:
        MlflowException: If the store does not answer.
    """
    if experiment_id := _existing_id(client):
        return experiment_id
    # a server knows where its artifacts lie; a bare database would put them below the caller
    has_server = urlsplit(tracking_uri).scheme in {"http", "https"}
    location = None if has_server else _SERVED_BY_THE_UI
    try:
        return create_once(
            lambda: client.create_experiment(EXPERIMENT, artifact_location=location),
            lambda: _existing_id(client),
        )
    except MlflowException:
        if experiment_id := _existing_id(client):  # another was faster
            return experiment_id
        raise


def create_once(create: Callable[[], Made], find: Callable[[], Made | None]) -> Made:
    """Create something and return it, tried again where the server could not answer.

    Args:
        create: Creates it by one request.
        find: Looks for what an earlier request has created after all.

    Raises:
        MlflowException: If the server refuses, or goes on not to answer.
    """
    for pause in _PAUSES:
        try:
            with _sent_once():
                return create()
        except RestException:  # the server has answered, and refuses
            raise
        except MlflowException:
            time.sleep(pause)
            if existing := find():
                return existing
    with _sent_once():
        return create()


@contextmanager
def _sent_once() -> Generator[None]:
    before = os.environ.get(_RETRIES)
    os.environ[_RETRIES] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_RETRIES]
        else:
            os.environ[_RETRIES] = before


def _existing_id(client: MlflowClient) -> str | None:
    experiment = client.get_experiment_by_name(EXPERIMENT)
    if experiment and experiment.lifecycle_stage != LifecycleStage.ACTIVE:
        client.restore_experiment(experiment.experiment_id)
    return experiment.experiment_id if experiment else None
