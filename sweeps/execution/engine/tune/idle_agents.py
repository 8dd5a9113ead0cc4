"""Ray started here without its two agents, which serve what a session of our own has no use for.

One serves a dashboard and metrics, the other makes environments for tasks that ask for one. They
take five seconds of a processor to start, and Ray starts no worker before. It insists on a process
for each and on a file that says at which port each listens; a port of -1 says at none.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

_TESTED = "2.60."  # another release is started as it is
_COMMANDS = ("--dashboard_agent_command=", "--runtime_env_agent_command=")
_ASKING = ("RAY_JOB_CONFIG_JSON_ENV_VAR", "RAY_RUNTIME_ENV_HOOK")
_PORTS = (
    "METRICS_AGENT_PORT_NAME",
    "METRICS_EXPORT_PORT_NAME",
    "DASHBOARD_AGENT_LISTEN_PORT_NAME",
    "RUNTIME_ENV_AGENT_PORT_NAME",
)


@contextmanager
def idle_agents() -> Generator[None]:
    """Have a Ray that is started in the block take idle processes for its agents."""
    import ray
    from ray._private import services

    if not ray.__version__.startswith(_TESTED):
        yield
        return
    start: Callable[..., Any] = services.start_ray_process

    def start_ray_process(command: Sequence[str], *arguments: Any, **named: Any) -> Any:
        if any(word.startswith(_COMMANDS) for word in command):
            _say_that_none_listens(command)
            command = [_without_agent(word) for word in command]
        return start(command, *arguments, **named)

    # for an environment, in the name of whoever has started this process
    asked = {name: os.environ.pop(name) for name in _ASKING if name in os.environ}
    try:
        with patch.object(services, "start_ray_process", start_ray_process):
            yield
    finally:
        os.environ.update(asked)


def _without_agent(word: str) -> str:
    option, is_set, _ = word.partition("=")
    if f"{option}{is_set}" not in _COMMANDS:
        return word
    script = str(Path(__file__).with_name("idle_agent.py"))
    idle = [sys.executable, "-I", "-S", script, str(os.getpid())]
    return f"{option}={subprocess.list2cmdline(idle)}"


def _say_that_none_listens(command: Sequence[str]) -> None:
    from ray import _raylet

    raylet: Any = _raylet  # which tells no types
    said = dict(word.removeprefix("--").split("=", 1) for word in command if "=" in word)
    for name in _PORTS:
        raylet.persist_port(said["session_dir"], said["node_id"], getattr(raylet, name), -1)
