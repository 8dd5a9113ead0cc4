"""MLflow keeps the contract."""

import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mlflow.tracking import MlflowClient

from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from tests.sweeps.tracking.store_contract import StoreContract


class TestMlflow(StoreContract):
    """The contract, over a SQLite file and a folder of artifacts, by MLflow's client."""

    @pytest.fixture
    def store(self, mlflow_store: MlflowStore, tmp_path: Path) -> MlflowStore:
        return MlflowStore(mlflow_store.address, tmp_path / "artifacts", by_client=True)

    @pytest.fixture
    def away(self, tmp_path: Path) -> MlflowStore:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            port = unused.getsockname()[1]
        return MlflowStore(f"http://me:secret@127.0.0.1:{port}", tmp_path)

    def delete(self, store: MlflowStore, record_id: str) -> None:
        MlflowClient(store.address).delete_run(record_id)

    def num_points(self, store: MlflowStore, record_id: str, metric: str) -> int:
        return len(MlflowClient(store.address).get_metric_history(record_id, metric))

    def files(self, store: MlflowStore, record_id: str) -> dict[str, bytes]:
        run = MlflowClient(store.address).get_run(record_id)
        folder = Path(urlsplit(str(run.info.artifact_uri)).path)
        files = (path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


class TestEmbedded(TestMlflow):
    """The contract, read by SQL."""

    @pytest.fixture
    def store(self, mlflow_store: MlflowStore) -> MlflowStore:
        return mlflow_store
