"""The tracking store for writing: one try a write, artifacts where they belong."""

import os
from pathlib import Path
from typing import Any

import pytest

from sweeps.execution.recorder.client import RecorderClient
from sweeps.storage.locations import Storage
from sweeps.tracking.mlflow_runs import EXPERIMENT
from sweeps.tracking.writer import Tracking
from tests.sweeps.execution.recorder.test_recorder import Scene, empty_store, scene

__all__ = ["empty_store", "scene"]
RETRIES = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"


def test_no_write_is_repeated_whatever_the_environment_says(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RETRIES, "7")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "99")
    Tracking(f"sqlite:///{scene.folder / 'mlflow.db'}", scene.folder)
    assert os.environ[RETRIES] == "0"
    assert os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "99", "patience is the user's"


def test_the_recorders_process_repeats_no_write_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RETRIES, "7")
    started: list[dict[str, str]] = []

    def start(*_: Any, env: dict[str, str], **__: Any) -> None:
        started.append(env)

    monkeypatch.setattr("subprocess.Popen", start)
    RecorderClient(Storage(tmp_path), "http://host", "example")
    assert [environment[RETRIES] for environment in started] == ["0"]


def test_an_experiment_that_somebody_deleted_is_restored(scene: Scene) -> None:
    experiment = scene.tracking.experiment_id
    scene.tracking.client.delete_experiment(experiment)
    again = Tracking(f"sqlite:///{scene.folder / 'mlflow.db'}", scene.folder)
    assert again.experiment_id == experiment
    assert again.client.get_experiment(experiment).lifecycle_stage == "active"


@pytest.mark.parametrize(
    ("address", "is_ours"),
    [
        ("sqlite:////a/mlflow.db", True),
        ("postgresql://host/db", True),
        ("mysql+pymysql://host/db", True),
        ("http://host:5000", False),
        ("https://host", False),
    ],
)
def test_only_a_server_chooses_where_artifacts_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, is_ours: bool
) -> None:
    made: list[tuple[str, str | None]] = []

    class Client:
        def __init__(self, tracking_uri: str) -> None:
            assert tracking_uri == address

        def get_experiment_by_name(self, _: str) -> None:
            return None

        def create_experiment(self, name: str, artifact_location: str | None) -> str:
            made.append((name, artifact_location))
            return "1"

    monkeypatch.setattr("sweeps.tracking.writer.MlflowClient", Client)
    assert Tracking(address, tmp_path).experiment_id == "1"
    assert made == [(EXPERIMENT, tmp_path.as_uri() if is_ours else None)]
