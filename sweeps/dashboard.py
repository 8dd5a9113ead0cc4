"""MLflow's own UI over a tracking store, bound to this machine alone."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import FrameType

import typer

from sweeps.errors import BadInput
from sweeps.locations import resolve_tracking_uri

_LOOPBACK = "127.0.0.1"


def serve(port: int, tracking_uri: str | None, storage: str | Path | None) -> None:
    """Serve the UI until Ctrl-C. Of a tracking store that is a server, show the address instead.

    Raises:
        BadInput: If the store is not there or the port is taken.
    """
    uri = resolve_tracking_uri(tracking_uri, storage)
    if uri.startswith(("http://", "https://")):
        typer.echo(f"The tracking store is a server with a UI of its own: {_public(uri)}")
        return
    _refuse_missing(uri)
    port = _free_port(port)
    typer.echo(f"MLflow's UI: http://{_LOOPBACK}:{port} (Ctrl-C ends it)")
    command = [sys.executable, "-P", "-m", "mlflow", "server"]
    command += ["--host", _LOOPBACK, "--port", str(port), "--workers", "1"]
    environment = {
        **os.environ,
        "MLFLOW_BACKEND_STORE_URI": uri,  # not an argument: those are seen by everybody
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        process.terminate()

    signal.signal(signal.SIGTERM, end)
    try:
        code = process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        return
    if code not in {0, -signal.SIGTERM}:
        raise BadInput(f"MLflow's UI ended with code {code}: see its messages above.")


def _refuse_missing(uri: str) -> None:
    path = Path(uri.removeprefix("sqlite:///"))
    if uri.startswith("sqlite:///") and not path.exists():
        raise BadInput(f"There are no records in {path} yet: run a sweep, or give --storage.")


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


def _public(uri: str) -> str:
    scheme, _, rest = uri.partition("//")
    return f"{scheme}//{rest.rpartition('@')[2]}"
