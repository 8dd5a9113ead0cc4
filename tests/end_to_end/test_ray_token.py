"""Nobody without the token of a sweep's own Ray session may use it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.command import Command, Terminal, clean_environment
from tests.end_to_end.storage_view import num_reported_epochs
from tests.end_to_end.sweep_file import write_sweep
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.slow

_CLIENT = """\
import sys, ray
ray.init(address=sys.argv[1], logging_level="ERROR", log_to_driver=False)
print("let in:", ray.cluster_resources())
"""


def test_a_client_without_the_token_is_refused_while_a_sweep_runs(
    tmp_path: Path, terminal: Terminal
) -> None:
    file = write_sweep(tmp_path / "guarded.py", seeds=(0,), epochs=10_000, seconds=1.0)
    command = terminal.start("run", str(file))
    command.wait_until(lambda: num_reported_epochs(terminal.storage) > 0)
    address = f"127.0.0.1:{gcs_port(command)}"
    family = command.family()
    token = next(process for process in family if process.name() == "raylet").environ()[
        "RAY_AUTH_TOKEN"
    ]
    without = client(address)
    wrong = client(address, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN="0" * 64)
    right = client(address, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=token)
    for refused in (without, wrong):
        output, errors = refused.communicate(timeout=PATIENCE_SECONDS)
        assert refused.returncode != 0, output
        assert "let in" not in output
        assert "token" in errors, errors
    output, errors = right.communicate(timeout=PATIENCE_SECONDS)
    assert "let in" in output, errors
    assert command.is_running()
    arguments = [word for process in family for word in process.cmdline()]
    assert not [word for word in arguments if token in word]


def gcs_port(command: Command) -> str:
    """Return the port of the sweep's own Ray session, as anybody on the machine can see it."""
    (server,) = (process for process in command.family() if process.name() == "gcs_server")
    ports = {
        connection.laddr.port
        for connection in server.net_connections("tcp")
        if connection.status == "LISTEN"
    }
    named = [word.partition("=")[2] for word in server.cmdline() if "gcs_server_port" in word]
    return next((port for port in named if port != "0"), str(min(ports)))


def client(address: str, **variables: str) -> "subprocess.Popen[str]":
    """Start a Ray client that tries to get in."""
    return subprocess.Popen(
        [sys.executable, "-c", _CLIENT, address],
        env=clean_environment() | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
