"""MLflow's server on the head: started once, and left alone by whoever starts it again."""

import os
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.end_to_end.command import clean_environment
from tests.end_to_end.tracking_server import free_port
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.cluster

START = (sys.executable, "-m", "sweeps.remote.mlflow_server")  # as cluster.yaml has it


@pytest.fixture
def environment(tmp_path: Path) -> Generator[dict[str, str]]:
    programs = Path(sys.executable).parent
    made = clean_environment() | {
        "HOME": str(tmp_path),  # also what marks the server's processes as ours
        "PATH": f"{programs}:{os.environ['PATH']}",
        "MLFLOW_PORT": str(free_port()),
        "MLFLOW_DATABASE": f"sqlite:///{tmp_path}/on/share/mlflow.db",
        "MLFLOW_ARTIFACTS": f"{tmp_path}/on/share/artifacts",
    }
    yield made
    for process in servers(made):
        with suppress(psutil.NoSuchProcess):
            process.kill()


def server_ids(environment: dict[str, str]) -> list[int]:
    return [process.pid for process in servers(environment) if "server" in process.cmdline()]


def test_a_second_start_leaves_the_server_alone_and_the_database_is_where_it_was_asked_for(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    start(environment)
    first = server_ids(environment)
    assert len(first) == 1
    assert (tmp_path / "on" / "share" / "mlflow.db").exists()
    arguments = [word for process in servers(environment) for word in process.cmdline()]
    assert not [word for word in arguments if "mlflow.db" in word], "as all users see them"
    start(environment)
    assert server_ids(environment) == first
    address = f"http://127.0.0.1:{environment['MLFLOW_PORT']}/health"
    with urllib.request.urlopen(address, timeout=PATIENCE_SECONDS) as answer:
        assert answer.status == 200


def test_a_server_that_cannot_start_is_an_error_with_its_words(
    environment: dict[str, str],
) -> None:
    environment["MLFLOW_DATABASE"] = "nonsense://database"
    ended = tried(environment)
    assert ended.returncode == 1
    (sentence,) = ended.stderr.splitlines()
    assert "MLflow's server does not start on" in sentence
    assert "nonsense" in sentence


@pytest.mark.nightly
def test_where_the_driver_for_postgresql_is_missing_one_sentence_says_what_to_install(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "psycopg.py").write_text("raise ImportError('no pq wrapper available')")
    environment |= {
        "PYTHONPATH": str(tmp_path),
        "MLFLOW_DATABASE": "postgresql://me:secret@127.0.0.1/mlflow",
    }
    ended = tried(environment)
    assert ended.returncode == 1
    (sentence,) = ended.stderr.splitlines()
    assert "python -m pip install 'psycopg[binary]'" in sentence
    assert "secret" not in sentence
    assert servers(environment) == []


def tried(environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """Start the server, and return what it said."""
    return subprocess.run(
        START,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def start(environment: dict[str, str]) -> None:
    """Start the server, whose end the server has to outlive."""
    ended = subprocess.run(START, env=environment, timeout=PATIENCE_SECONDS, check=False)
    assert ended.returncode == 0


def servers(environment: dict[str, str]) -> list[psutil.Process]:
    """Return the processes that were started in an environment."""
    result: list[psutil.Process] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("MLFLOW_PORT") == environment["MLFLOW_PORT"]:
                result.append(process)
    return result
