"""MLflow's own UI over a tracking store, bound to this machine alone."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO

import psutil
import typer

from sweeps.records.errors import BadInput, SweepError
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.storage.folder import Folder
from sweeps.storage.locations import Storage, resolve_storage, resolve_tracking_uri
from sweeps.storage.sqlite_file import open_read_only
from sweeps.storage.store_format import check_format
from sweeps.tracking.addresses import public, sqlite_path
from sweeps.tracking.mlflow.connection import check_database, connect, mlflow_errors_as_ours
from sweeps.tracking.mlflow.runs_page import page_of_database, page_of_server

_IS_SERVED = re.compile(r"mlflow-artifacts:/(?!/)(?!(.*/)?\.\.(/|$))")
_OPENED_BY_MLFLOW = (
    ("runs", "artifact_uri", "1"),
    ("logged_models", "artifact_location", "1"),
    ("model_versions", "source", "1"),
    ("model_versions", "storage_location", "1"),
    ("trace_tags", "value", "key = 'mlflow.artifactLocation'"),
)


def place_elsewhere(database: Path) -> str | None:
    """Return a place that MLflow's UI would open outside its artifacts' folder, None if none is.

    Args:
        database: Database of an embedded store.
    """
    with closing(open_read_only(Folder(database.parent), database.name)) as opened:
        tables = {name for (name,) in opened.execute("select name from sqlite_master")}
        for table, column, condition in _OPENED_BY_MLFLOW:
            if table not in tables:
                continue
            query = f"select {column} from {table} where {column} is not null and {condition}"
            for (place,) in opened.execute(query):
                if not _IS_SERVED.match(str(place)):
                    return str(place)
    return None


_LOOPBACK = "127.0.0.1"
_START_SECONDS = 90.0
_END_SECONDS = 10.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve(port: int, tracking_uri: str | None, storage: str | Path | None) -> None:
    """Serve the UI until Ctrl-C. Of a tracking store that is a server, show the address instead.

    Raises:
        BadInput: If the store is not there or leads elsewhere, the port is taken, or MLflow does
            not start.
    """
    place = resolve_storage(storage)
    check_format(place)
    uri = resolve_tracking_uri(tracking_uri, storage)
    if uri.startswith(("http://", "https://")):
        typer.echo(f"The tracking store is a server with a UI of its own: {_page_of_server(uri)}")
        return
    database = sqlite_path(uri)
    if database:
        check_database(database)
        _check_rows(database, place)
        _check_artifacts(place.artifacts)
    port = _free_port(port)
    root = f"http://{_LOOPBACK}:{port}"
    page = page_of_database(root, database) if database else root
    with tempfile.TemporaryFile() as log, _server(uri, place.artifacts, port, log) as process:
        typer.echo(f"MLflow's UI is starting, which takes up to a minute. It will be at {page}")
        _await(process, port, log)
        typer.echo("It answers now. Ctrl-C ends it.")
        process.wait()


def _page_of_server(uri: str) -> str:
    """Return where a server shows our runs; its own address where it does not say."""
    root = public(uri)
    try:
        client = connect(uri)
        with mlflow_errors_as_ours(uri):
            return page_of_server(client, root)
    except SweepError:
        return root


@contextmanager
def _server(
    uri: str, artifacts: Path, port: int, log: IO[bytes]
) -> Generator["subprocess.Popen[bytes]"]:
    """Run MLflow's server. Ctrl-C and a termination signal end it, and the block."""
    command = [sys.executable, "-P", "-m", "mlflow", "server"]
    command += ["--host", _LOOPBACK, "--port", str(port), "--workers", "1"]
    command += ["--artifacts-destination", str(artifacts)]
    environment = {
        **os.environ,
        "MLFLOW_BACKEND_STORE_URI": uri,  # not an argument: those are seen by everybody
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # evaluations of language models: not ours
    }
    with _interruptible():
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            yield process
        except KeyboardInterrupt:
            typer.echo("The UI has ended; the records are as they were.")
        finally:
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the server and what it has started, for which it does not always wait.

    It waits itself for whom it answers, and a file may have no end.
    """
    started: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        started = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)
    for survivor in psutil.wait_procs(started, timeout=_END_SECONDS)[1]:
        with suppress(psutil.NoSuchProcess):
            survivor.kill()
    process.kill()
    process.wait()


@contextmanager
def _interruptible() -> Generator[None]:
    """Raise KeyboardInterrupt in the block on SIGINT and SIGTERM.

    Python leaves SIGINT ignored where it was at the start, as in a script's background job, and
    the UI would then have no end; `capsweep run` hears it there too.
    """
    before = {number: signal.signal(number, _interrupt) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt


def _await(process: "subprocess.Popen[bytes]", port: int, log: IO[bytes]) -> None:
    """Return when the server answers.

    Raises:
        BadInput: With its last words, if it ended, or does not answer in time.
    """
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as client:
            if client.connect_ex((_LOOPBACK, port)) == 0:
                return
        time.sleep(0.2)
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines()
    raise BadInput(f"MLflow's UI did not start: {lines[-1] if lines else 'it said nothing'}")


def _check_rows(database: Path, place: Storage) -> None:
    """Refuse an embedded store with a row that would have MLflow open something else."""
    if not database.resolve().is_relative_to(place.root.resolve()):  # served as its owner has it
        return
    if elsewhere := place_elsewhere(database):
        raise BadInput(
            f"A row of {database} says that files lie at '{public(elsewhere)[:200]}', which is not "
            f"in the storage folder, and MLflow's UI would open that: delete the row, or restore "
            f"the database from a copy. A run of your own is shown by `mlflow ui`."
        )


def _check_artifacts(artifacts: Path) -> None:
    """Refuse artifacts that whoever opens them waits for: MLflow's server opens what it is asked.

    It answers nobody then, and does not end.
    """
    for folder, _, names in os.walk(artifacts):
        for name in names:
            path = Path(folder, name)
            if path.exists() and not path.is_file():
                raise BadInput(
                    f"{path} is a pipe, a socket or a device, and MLflow's UI would wait for it "
                    f"for ever: remove it, then see whether `{SuggestedCommand('repair')}` finds "
                    f"something lost."
                )


def _free_port(port: int) -> int:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((_LOOPBACK, port))
        except (OSError, OverflowError) as error:
            raise BadInput(
                f"Port {port} cannot be used ({error}): give another, --port, or 0 for a free one."
            ) from error
        return int(listener.getsockname()[1])
