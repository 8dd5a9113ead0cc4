"""A real MLflow server on this machine, which can be killed and started again."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import psutil

from tests.end_to_end.command import clean_environment
from tests.waiting import PATIENCE_SECONDS


class TrackingServer:
    """An MLflow server with a database and artifacts of its own. It starts when it is told to.

    Args:
        folder: A new folder for its files.
        backend: The address of its database; by default a SQLite file.
    """

    def __init__(self, folder: Path, backend: str = "") -> None:
        folder.mkdir()
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.address = f"http://127.0.0.1:{self._port}"
        self.database = folder / "server.db"
        self.artifacts = folder / "artifacts"
        self._backend = backend or f"sqlite:///{self.database}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1"]
        command += ["--port", str(self._port), "--workers", "1"]
        command += ["--artifacts-destination", str(self.artifacts)]
        environment = clean_environment() | {
            "MLFLOW_BACKEND_STORE_URI": self._backend,
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        }
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, cwd=self._folder
            )
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self._answers():
            assert time.monotonic() < deadline, (self._folder / "server.log").read_text()
            time.sleep(0.1)

    def kill(self) -> None:
        """SIGKILL it and its workers."""
        if self._process is None:
            return
        server = psutil.Process(self._process.pid)
        for process in [server, *server.children(recursive=True)]:
            process.kill()
        self._process.wait(PATIENCE_SECONDS)
        self._process = None

    @property
    def roots(self) -> list[int]:
        """The process id of the server, if it runs."""
        return [self._process.pid] if self._process else []

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(f"{self.address}/health", timeout=2).close()
        except (OSError, urllib.error.URLError):
            return False
        return True


def free_port() -> int:
    """Return a port that nobody listens on."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Return different ports that nobody listens on.

    All are held until the last is drawn: drawn one by one, two may be the same.
    """
    with ExitStack() as stored:
        listeners = [
            stored.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [listener.getsockname()[1] for listener in listeners]
