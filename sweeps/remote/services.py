"""Services on a machine: what starts one marks its environment, by which it is ended later."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

import psutil

MARK = "CAPSWEEP_CLUSTER"
"""The variable: its value ends with the port of the service."""
_END_SECONDS = 10.0


def end_services(port: int) -> int:
    """End the processes of the service with a port; return how many there were."""
    ended: list[psutil.Process] = []
    while alive := [process for process in _services(port) if process not in ended]:
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        ended += alive
    psutil.wait_procs(ended, timeout=_END_SECONDS)
    return len(ended)


def _services(port: int) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            mark = process.environ().get(MARK, "")
            if process.pid != os.getpid() and mark.endswith(f":{port}"):
                yield process


def answers(url: str, token: str = "") -> bool:
    """Return whether a server on this machine answers, asked without any proxy."""
    opener = build_opener(ProxyHandler({}))
    opener.addheaders = [("Authorization", f"Bearer {token}")] if token else []
    try:
        with opener.open(url, timeout=5.0) as reply:
            return reply.status == 200
    except (URLError, OSError, ValueError):
        return False


def is_open(url: str) -> bool:
    """Return whether anything listens at an address."""
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 80), timeout=5.0).close()
    except OSError:
        return False
    return True


def program(name: str) -> str:
    """Return the path of a command of this Python."""
    return str(Path(sys.executable).with_name(name))


def service_environment() -> dict[str, str]:
    """Return the environment of a service: its jobs find our commands, and no ssh session's."""
    left_out = ("SSH_", "XDG_SESSION")
    usual = {key: value for key, value in os.environ.items() if not key.startswith(left_out)}
    folder = str(Path(sys.executable).parent)
    return {**usual, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
