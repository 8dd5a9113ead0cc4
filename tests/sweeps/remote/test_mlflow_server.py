"""How a head's MLflow is started; tests/cluster/test_start_mlflow.py starts a real one."""

import json
import re
import socket
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from sweeps.records.errors import BadInput
from sweeps.remote import mlflow_server
from sweeps.remote.mlflow_server import MlflowServer
from sweeps.remote.services import MARK
from tests.end_to_end.tracking_server import free_port
from tests.waiting import PATIENCE_SECONDS

HOST = socket.gethostname()
_SERVER = f"""\
#!{sys.executable}
import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

with open(os.path.join(os.environ["HOME"], "given.json"), "w") as file:
    json.dump([sys.argv[1:], dict(os.environ)], file)


class Health(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()


(port,) = (word.partition("=")[2] for word in sys.argv if word.startswith("--port="))
HTTPServer(("127.0.0.1", int(port)), Health).serve_forever()
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return what puts a script in the place of MLflow's command."""
    program = tmp_path / "mlflow"
    monkeypatch.setattr(mlflow_server, "program", lambda name: str(program))

    def put(script: str) -> None:
        program.write_text(script)
        program.chmod(0o755)

    return put


@pytest.fixture
def server() -> Generator[MlflowServer]:
    made = MlflowServer(free_port())
    yield made
    if made._process:
        made._process.kill()
        made._process.wait(PATIENCE_SECONDS)


def test_it_is_started_once_and_no_command_line_has_the_address_of_its_database(
    server: MlflowServer, put: Callable[[str], None], home: Path
) -> None:
    put(_SERVER)
    address = f"sqlite:///{home}/on/share/mlflow.db"
    assert server.start(address, f"{home}/artifacts")
    server.wait()
    again = MlflowServer(server._port)
    assert not again.start(address, f"{home}/artifacts")
    again.wait()
    arguments, variables = json.loads((home / "given.json").read_text())
    port = f"--port={server._port}"
    assert arguments == [
        *("server", "--host=127.0.0.1", port, "--workers=1"),
        f"--artifacts-destination={home}/artifacts",
    ]
    assert variables["MLFLOW_BACKEND_STORE_URI"] == address
    assert variables["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] == "false"
    assert variables[MARK] == f"mlflow 127.0.0.1:{server._port}"
    assert (home / "on/share").is_dir()


@pytest.mark.parametrize("line", ["export MLFLOW_DATABASE={}", "MLFLOW_DATABASE = '{}'"])
def test_the_database_of_a_file_of_the_users_own_counts(
    line: str, server: MlflowServer, put: Callable[[str], None], home: Path
) -> None:
    put(_SERVER)
    private = home / "capsweep-mlflow.env"
    private.write_text(f"export OTHER=1\n{line.format('postgresql://me:secret@h/mlflow')}\n")
    private.chmod(0o600)
    server.start("", f"{home}/artifacts")
    server.wait()
    arguments, variables = json.loads((home / "given.json").read_text())
    assert variables["MLFLOW_BACKEND_STORE_URI"] == "postgresql://me:secret@h/mlflow"
    assert not [word for word in arguments if "secret" in word]


def test_a_file_with_the_database_that_others_may_read_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_PORT", str(free_port()))
    private = home / "capsweep-mlflow.env"
    private.write_text("export MLFLOW_DATABASE=nonsense://database\n")
    private.chmod(0o640)
    sentence = f"capsweep: Others may read ~/capsweep-mlflow.env on {HOST}: chmod 600 ~/capsweep-"
    with pytest.raises(SystemExit, match=re.escape(sentence)):
        mlflow_server.main()


def test_a_server_for_which_nothing_names_a_database_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MLFLOW_PORT", str(free_port()))
    monkeypatch.setenv("MLFLOW_ARTIFACTS", "/there")
    monkeypatch.delenv("MLFLOW_DATABASE", raising=False)
    with pytest.raises(SystemExit, match="set MLFLOW_DATABASE and MLFLOW_ARTIFACTS"):
        mlflow_server.main()


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("echo first; echo; echo no such database; exit 1", "no such database (see ~/capsweep-"),
        ("exit 1", "it has said nothing (see ~/capsweep-mlflow.log there)."),
        ("exec sleep 60", "it has said nothing (see ~/capsweep-mlflow.log there)."),
    ],
    ids=["last line", "silent", "hangs"],
)
def test_a_server_that_does_not_start_is_named_with_its_last_words(
    script: str,
    sentence: str,
    server: MlflowServer,
    put: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put(f"#!/bin/sh\n{script}\n")
    if script.startswith("exec"):
        monkeypatch.setattr(mlflow_server, "_START_SECONDS", 0.1)
    server.start("sqlite://", "/there")
    with pytest.raises(BadInput) as error:
        server.wait()
    start = f"MLflow's server does not start on {HOST}: {sentence}"
    assert str(error.value).startswith(start)


@pytest.mark.parametrize("reason", ["No module named 'psycopg'", "no pq wrapper available"])
def test_where_the_driver_for_postgresql_is_missing_one_sentence_says_what_to_install(
    reason: str, server: MlflowServer, put: Callable[[str], None]
) -> None:
    put(f'#!/bin/sh\necho "{reason}"; echo postgresql://me:secret@h; exit 1\n')
    server.start("postgresql://me:secret@127.0.0.1/mlflow", "/there")
    with pytest.raises(BadInput) as error:
        server.wait()
    assert "python -m pip install 'psycopg[binary]'" in str(error.value)
    assert "secret" not in str(error.value)
