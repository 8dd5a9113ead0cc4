"""Weights leave MLflow where its artifacts can be deleted."""

from pathlib import Path
from typing import Any

import pytest

from sweeps.tracking.mlflow.artifacts import FolderArtifacts
from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from sweeps.tracking.store import FreedWeights
from tests.sweeps.execution.examples import spec


def recorded_weights(store: MlflowStore, folder: Path) -> str:
    """Return the id of a record that holds ten bytes of weights."""
    writer = store.writer()
    record_id = writer.create_trial(spec(), "parent", 1)
    (folder / "weights.safetensors").write_bytes(b"x" * 10)
    writer.upload(record_id, folder / "weights.safetensors")
    return record_id


def test_weights_are_deleted_once(mlflow_store: MlflowStore, tmp_path: Path) -> None:
    record_id = recorded_weights(mlflow_store, tmp_path)
    assert mlflow_store.writer().delete_weights(record_id) == FreedWeights(10, "")
    assert mlflow_store.writer().delete_weights(record_id) == FreedWeights(0, "")


@pytest.mark.parametrize("error", [None, NotImplementedError(), PermissionError(13, "not yours")])
def test_artifacts_that_cannot_be_deleted_stay_and_that_is_said(
    error: Exception | None,
    mlflow_store: MlflowStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any) -> None:
        if error:
            raise error

    record_id = recorded_weights(mlflow_store, tmp_path)
    monkeypatch.setattr(FolderArtifacts, "delete", refuse)
    freed, complaint = mlflow_store.writer().delete_weights(record_id)
    assert freed == 0
    assert complaint.startswith("The tracking store does not delete weights, so its copies stay: ")
    assert mlflow_store.holds(mlflow_store.find(record_id), "weights.safetensors")
