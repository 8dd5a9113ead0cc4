"""No address in a record is obeyed: files of runs lie where the storage folder says."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Barrier
from typing import cast

import pytest

from sweeps.records.errors import BadInput, StoreRefused
from sweeps.tracking.mlflow.artifacts import Artifacts, FolderArtifacts, find_paths, followed
from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from sweeps.tracking.store import FreedWeights
from tests.sweeps.execution.examples import spec
from tests.waiting import PATIENCE_SECONDS

RUN = "a" * 32
SERVER = "http://me:secret@tracking.example:5000"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Return a folder of somebody else's, with weights in it."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "weights.safetensors").write_bytes(b"theirs")
    (folder / "config.json").write_text("theirs")
    return folder


@pytest.fixture
def record_id(mlflow_store: MlflowStore, tmp_path: Path, elsewhere: Path) -> str:
    """Return a record with weights, whose row says that they lie elsewhere."""
    writer = mlflow_store.writer()
    record_id = writer.create_trial(spec(), "parent", 1)
    (tmp_path / "weights.safetensors").write_bytes(b"ours")
    writer.upload(record_id, tmp_path / "weights.safetensors")
    said = elsewhere.as_uri()
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as database, database:
        database.execute("update runs set artifact_uri = ?", (said,))
        database.execute("update experiments set artifact_location = ?", (said,))
    return record_id


class Far:
    """Files of a server that answers only when it is asked for two at once."""

    def __init__(self, num_at_once: int) -> None:
        self.num_at_once = num_at_once
        self._both = Barrier(2, timeout=PATIENCE_SECONDS)

    def path(self, run_id: str, name: str) -> Path:
        self._both.wait()
        if run_id == RUN:
            raise StoreRefused("It is damaged.", "500")
        return Path(run_id) / name


def test_files_of_a_server_are_asked_for_several_at_once_and_damaged_ones_left_out() -> None:
    paths = find_paths(cast(Artifacts, Far(num_at_once=2)), [RUN, "b" * 32], "log.txt")
    assert paths == {"b" * 32: Path("b" * 32, "log.txt")}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_a_row_says_is_neither_read_nor_written_nor_deleted(
    mlflow_store: MlflowStore, record_id: str, elsewhere: Path, tmp_path: Path
) -> None:
    before, writer = contents(elsewhere), mlflow_store.writer()
    record = mlflow_store.find(record_id)
    assert mlflow_store.artifact(record, "weights.safetensors").read_bytes() == b"ours"
    assert mlflow_store.location(record, "weights.safetensors").startswith(str(tmp_path / "art"))
    writer.describe_trial(record_id, spec())
    (tmp_path / "table.md").write_text("table")
    writer.publish_files(record_id, [tmp_path / "table.md"])
    assert writer.delete_weights(record_id) == FreedWeights(4, "")
    assert contents(elsewhere) == before


def test_a_copied_store_never_touches_the_original(
    mlflow_store: MlflowStore, record_id: str, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(tmp_path / "mlflow.db", copy)
    shutil.copytree(tmp_path / "artifacts", copy / "artifacts")
    copied = MlflowStore(f"sqlite:///{copy / 'mlflow.db'}", copy / "artifacts")
    assert copied.writer().delete_weights(record_id) == FreedWeights(4, "")
    record = mlflow_store.find(record_id)
    assert mlflow_store.artifact(record, "weights.safetensors").read_bytes() == b"ours"


def test_files_beside_a_database_of_another_folder_are_found(tmp_path: Path) -> None:
    neighbour, storage = tmp_path / "beside", tmp_path / "storage"
    FolderArtifacts([neighbour]).write(RUN, "config.json", "old")
    both = FolderArtifacts([storage, neighbour])
    assert both.path(RUN, "config.json").read_text() == "old"
    both.write(RUN, "config.json", "new")  # where the run's files lie already
    assert not storage.exists()
    both.write("b" * 32, "config.json", "another run's")
    assert both.location("b" * 32, "config.json").startswith(str(storage))


@pytest.mark.parametrize("run_id", ["../../x", "", "a" * 31, "A" * 32, "/etc"])
def test_an_id_that_is_none_is_refused(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(BadInput, match="without a proper id"):
        FolderArtifacts([tmp_path]).write(run_id, "config.json", "x")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(params=["the run's folder", "its artifacts", "a folder in them"])
def linked(request: pytest.FixtureRequest, tmp_path: Path, elsewhere: Path) -> Path:
    """Return a root in which a folder is a link that leads out of it."""
    root = tmp_path / "root"
    places = {
        "the run's folder": root / RUN,
        "its artifacts": root / RUN / "artifacts",
        "a folder in them": root / RUN / "artifacts" / "report",
    }
    place = places[request.param]
    place.parent.mkdir(parents=True)
    place.symlink_to(elsewhere, target_is_directory=True)
    return root


def test_a_link_that_leads_elsewhere_is_not_followed(
    linked: Path, elsewhere: Path, tmp_path: Path
) -> None:
    before, artifacts = contents(elsewhere), FolderArtifacts([linked])
    (tmp_path / "weights.safetensors").write_bytes(b"ours")
    with pytest.raises(BadInput, match="is a link or not a folder, and is not followed"):
        artifacts.upload(RUN, tmp_path / "weights.safetensors", "report/weights.safetensors")
    with pytest.raises(BadInput):
        artifacts.path(RUN, "report/weights.safetensors")
    artifacts.delete(RUN, "report/weights.safetensors")
    assert contents(elsewhere) == before


def test_a_file_that_is_a_link_is_replaced_and_not_written_through(
    tmp_path: Path, elsewhere: Path
) -> None:
    artifacts = FolderArtifacts([tmp_path / "root"])
    artifacts.write(RUN, "other.json", "x")
    place = tmp_path / "root" / RUN / "artifacts" / "config.json"
    place.symlink_to(elsewhere / "config.json")
    with pytest.raises(BadInput):
        artifacts.path(RUN, "config.json")
    artifacts.write(RUN, "config.json", "ours")
    assert artifacts.path(RUN, "config.json").read_text() == "ours"
    assert (elsewhere / "config.json").read_text() == "theirs"


def test_a_writer_says_so_as_it_says_that_a_store_refuses(
    mlflow_store: MlflowStore, record_id: str, tmp_path: Path, elsewhere: Path
) -> None:
    folder = tmp_path / "artifacts" / record_id / "artifacts"
    shutil.rmtree(folder)
    folder.symlink_to(elsewhere, target_is_directory=True)
    with pytest.raises(StoreRefused, match="is a link or not a folder, and is not followed"):
        mlflow_store.writer().upload(record_id, tmp_path / "weights.safetensors")


@pytest.mark.parametrize(
    "said",
    [
        "mlflow-artifacts:/1/run/artifacts",
        "mlflow-artifacts://tracking.example:5000/1/run/artifacts",
        "s3://bucket/mlflow/1/run/artifacts",
        "s3://bucket/mlflow",
    ],
)
def test_a_server_and_what_was_allowed_are_followed(said: str) -> None:
    assert followed(said, SERVER, "gs://other, s3://bucket/mlflow/") == said


@pytest.mark.parametrize(
    "said",
    [
        "",
        "/home/somebody",
        "file:///home/somebody",
        "http://attacker.example/x",
        "mlflow-artifacts://attacker.example:5000/1",
        "mlflow-artifacts://tracking.example:5001/1",
        "mlflow-artifacts:/1/../../x",
        "s3://bucket/mlflow-of-others/1",
        "s3://bucket/mlflow/../others",
        "dbfs:/x",
        "mlflow-artifacts://[x/",
        "mlflow-artifacts://tracking.example:abc/",
    ],
)
def test_any_other_address_is_refused_in_one_sentence(said: str) -> None:
    with pytest.raises(BadInput, match="not that server and is not followed") as refused:
        followed(said, SERVER, "s3://bucket/mlflow")
    assert "secret" not in str(refused.value)
    assert "CAPSWEEP_ARTIFACT_ROOTS" in str(refused.value)
