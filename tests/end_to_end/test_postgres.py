"""With a PostgreSQL database, MLflow's server is a store like any other, which can be lost."""

import re
import shutil
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest
from mlflow.tracking import MlflowClient

from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from tests.end_to_end.command import Terminal
from tests.end_to_end.postgres import DATABASE, Postgres, running_postgres
from tests.end_to_end.sweep_file import write_sweep
from tests.end_to_end.tracking_server import TrackingServer, free_port
from tests.sweeps.tracking.store_contract import StoreContract

pytestmark = pytest.mark.slow

PRISTINE = "pristine"


@pytest.fixture(scope="module")
def postgres() -> Generator[Postgres]:
    with running_postgres() as running:
        yield running


@pytest.fixture(scope="module")
def started(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Generator[TrackingServer]:
    folder = tmp_path_factory.mktemp("postgres") / "server"
    server = TrackingServer(folder, postgres.address())
    server.start()
    postgres.make(PRISTINE, template=DATABASE)
    yield server
    server.kill()


@pytest.fixture
def server(started: TrackingServer, postgres: Postgres) -> TrackingServer:
    """Return the server with no records: its tables are made once, and copied."""
    postgres.make(DATABASE, template=PRISTINE)
    return started


class TestPostgres(StoreContract):
    """The contract of stores, over a server in a process of its own."""

    @pytest.fixture
    def store(self, server: TrackingServer, tmp_path: Path) -> MlflowStore:
        self.artifacts = server.artifacts
        return MlflowStore(server.address, tmp_path / "artifacts")

    @pytest.fixture
    def away(self, tmp_path: Path) -> MlflowStore:
        return MlflowStore(f"http://me:secret@127.0.0.1:{free_port()}", tmp_path)

    def delete(self, store: MlflowStore, record_id: str) -> None:
        MlflowClient(store.address).delete_run(record_id)

    def num_points(self, store: MlflowStore, record_id: str, metric: str) -> int:
        return len(MlflowClient(store.address).get_metric_history(record_id, metric))

    def files(self, store: MlflowStore, record_id: str) -> dict[str, bytes]:
        uri = str(MlflowClient(store.address).get_run(record_id).info.artifact_uri)
        folder = self.artifacts / uri.removeprefix("mlflow-artifacts:/")
        files = (path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_sweep_reads_the_same_as_from_sqlite_also_after_the_database_was_lost(
    tmp_path: Path, terminal: Terminal, server: TrackingServer, postgres: Postgres
) -> None:
    file = write_sweep(tmp_path / "kept.py", epochs=2)
    of_server = ("--tracking-uri", server.address)
    ended = terminal.run("run", str(file), "--engine", "inline", *of_server)
    assert ended.code == 0, ended.explained()
    assert not terminal.database.exists()
    assert not [word for word in command_lines(server) if postgres.password in word]
    assert terminal.run("repair").code == 0  # fills the embedded store from the cells' folders
    assert terminal.database.exists()
    embedded = answers(terminal)
    assert answers(terminal, *of_server) == embedded

    server.kill()
    postgres.make(DATABASE)
    server.start()
    ended = terminal.run("best", "kept", *of_server)
    assert ended.code == 2, ended.explained()
    ended = terminal.run("repair", *of_server)
    assert ended.code == 0, ended.explained()
    assert answers(terminal, *of_server) == embedded


def answers(terminal: Terminal, *options: str) -> dict[str, bytes]:
    """Return what readers say of the sweep: what they print, and the files of its report.

    The ids of MLflow's runs, which are each store's, are left out.
    """
    reports = terminal.folder / "reports"
    shutil.rmtree(reports)
    commands = {
        "best": ("best", "kept"),
        "status": ("status", "kept"),
        "report": ("report", "kept"),
    }
    ended = {name: terminal.run(*arguments, *options) for name, arguments in commands.items()}
    assert all(command.code == 0 for command in ended.values()), [*ended.values()]
    files = {path.name: path.read_bytes() for path in reports.rglob("*") if path.is_file()}
    assert "ablation.csv" in files
    files |= {name: ended[name].output.encode() for name in ("best", "status")}
    return {name: re.sub(rb"\b[0-9a-f]{32}\b", b"", content) for name, content in files.items()}


def command_lines(server: TrackingServer) -> list[str]:
    """Return the words of the command lines of a server and what it started."""
    (root,) = (psutil.Process(pid) for pid in server.roots)
    return [
        word
        for process in [root, *root.children(recursive=True)]
        for word in process.cmdline()
        if word
    ]
