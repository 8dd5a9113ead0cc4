"""MLflow's server on a head, which only the head itself reaches; elsewhere it takes an ssh tunnel.

`python -m sweeps.remote.mlflow_server` starts it on a head that `ray up` has made.
"""

import os
import socket
import subprocess
import time
from pathlib import Path

from sweeps.records.errors import BadInput
from sweeps.records.plain_text import one_line
from sweeps.remote.services import MARK, answers, program, service_environment
from sweeps.storage.folder import PRIVATE, Folder, in_storage, read_descriptor

_LOG, _ADDRESS = "capsweep-mlflow.log", "capsweep-mlflow.env"  # in the home folder
_START_SECONDS = 120.0
_POLL_SECONDS = 0.1
_NO_DRIVER = ("No module named 'psycopg'", "no pq wrapper")


class MlflowServer:
    """MLflow's server on this machine.

    Args:
        port: On the loopback.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, database: str, artifacts: str) -> bool:
        """Start it unless it answers; return whether it was started. It outlives this process.

        Args:
            database: Address of its database, unless a file of the user's own names another.
            artifacts: Where it keeps artifacts.

        Raises:
            BadInput: If others may read that file, or nothing names a database.
        """
        if self._answers():
            return False
        database = _private_database() or database
        if not (database and artifacts):
            raise BadInput("Where MLflow keeps things: set MLFLOW_DATABASE and MLFLOW_ARTIFACTS.")
        if database.startswith("sqlite:////"):
            path = Path(database.removeprefix("sqlite:///"))
            in_storage(path.parent).make()
        environment = {
            **service_environment(),
            MARK: f"mlflow 127.0.0.1:{self._port}",
            "MLFLOW_BACKEND_STORE_URI": database,  # no argument: those are seen by everybody
            # seven processes that evaluate language models: not ours
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        }
        # one worker: of several, each answer on a keep-alive connection takes 40 ms more
        arguments = ["server", "--host=127.0.0.1", f"--port={self._port}", "--workers=1"]
        arguments += [f"--artifacts-destination={artifacts}"]
        home = Folder(Path.home())
        home.remove(_LOG)  # of an earlier one
        with os.fdopen(home.append(_LOG, PRIVATE), "wb") as output:
            self._process = subprocess.Popen(
                [program("mlflow"), *arguments],
                env=environment,
                cwd=Path.home(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        return True

    def wait(self) -> None:
        """Wait until it answers, if it was started.

        Raises:
            BadInput: If it does not.
        """
        process, deadline = self._process, time.monotonic() + _START_SECONDS
        if process is None:
            return
        while process.poll() is None and time.monotonic() < deadline:
            if self._answers():
                return
            time.sleep(_POLL_SECONDS)
        process.kill()
        host = socket.gethostname()
        printed = Folder(Path.home()).read(_LOG).decode(errors="replace").strip()
        if any(error in printed for error in _NO_DRIVER):
            raise BadInput(
                f"MLflow's database is PostgreSQL, whose driver is not installed on {host}: "
                f"python -m pip install 'psycopg[binary]' in the Python of capsweep there."
            )
        last = one_line(printed.splitlines()[-1])[:300] if printed else "it has said nothing"
        raise BadInput(f"MLflow's server does not start on {host}: {last} (see ~/{_LOG} there).")

    def _answers(self) -> bool:
        return answers(f"http://127.0.0.1:{self._port}/health")


def _private_database() -> str | None:
    """Return the address of MLflow's database that a file of the user's own names, if there is one.

    Raises:
        BadInput: If others may read the file, as the address may hold a password.
    """
    home = Folder(Path.home())
    try:
        descriptor = home.open(_ADDRESS)
    except FileNotFoundError:
        return None
    others_may_read = os.fstat(descriptor).st_mode & 0o077
    text = read_descriptor(descriptor, home.path / _ADDRESS).decode()
    if others_may_read:
        raise BadInput(
            f"Others may read ~/{_ADDRESS} on {socket.gethostname()}: chmod 600 ~/{_ADDRESS}, and "
            f"change the password if it was seen."
        )
    for line in text.splitlines():
        name, _, value = line.removeprefix("export ").partition("=")
        if name.strip() == "MLFLOW_DATABASE":
            return value.strip().strip("'\"")
    return None


def main() -> None:
    """Start the server as variables of the head say, unless it answers."""
    get = os.environ.get
    server = MlflowServer(int(get("MLFLOW_PORT", "5000")))
    try:
        server.start(get("MLFLOW_DATABASE", ""), get("MLFLOW_ARTIFACTS", ""))
        server.wait()
    except BadInput as error:
        raise SystemExit(f"capsweep: {error}") from error


if __name__ == "__main__":
    raise SystemExit(main())
