"""Ray started here, or a running cluster joined, always with token authentication.

Ray listens on every interface, and whoever reaches an open port may run code there. A session of
our own has a token that is gone with it; a cluster's token comes from `RAY_AUTH_TOKEN` or
`~/.ray/auth_token`. The driver sets both in the environment that this process is started with.
"""

import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sweeps.execution.engine.placement import Machine
from sweeps.execution.engine.tune.idle_agents import idle_agents
from sweeps.records.errors import BadInput

_START_SECONDS = 600.0
_NEEDED = ("gcs_server", "raylet")
_NEEDLESS = ("start_api_server", "start_log_monitor", "start_monitor")


@contextmanager
def ray_session(address: str | None, scratch: str) -> Generator[None]:
    """Start Ray here, or join the cluster at an address.

    Raises:
        BadInput: If the cluster does not answer or refuses the token, or Ray does not start.
    """
    import ray
    from ray.exceptions import RayError

    options: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if address is None:
        folder = str(Path(scratch) / "ray")
        options |= {"address": "local", "include_dashboard": False, "_temp_dir": folder}
    else:
        options |= {"address": address}
    try:
        with _patience(), _lean() if address is None else nullcontext():
            ray.init(**options)
    except (RayError, OSError, RuntimeError, ValueError) as error:
        raise _refusal(address, error) from error
    try:
        yield
    finally:
        ray.shutdown()


def machines_there() -> tuple[Machine, ...]:
    """Return the machines that Ray has."""
    import ray

    alive = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return tuple(Machine(cpus=has.get("CPU", 0.0), gpus=has.get("GPU", 0.0)) for has in alive)


def needed_processes() -> tuple[int, ...]:
    """Return the ids of the processes without which the Ray that was started here is dead."""
    from ray._private import worker

    node: Any = worker._global_node  # pyright: ignore[reportPrivateUsage] - said nowhere else
    running = node.all_processes
    return tuple(info.process.pid for kind in _NEEDED for info in running[kind])


@contextmanager
def _patience() -> Generator[None]:
    """Have Ray wait for its own start: it gives up after 30 seconds, which a busy machine takes."""
    from ray._private import services

    asked: Callable[..., Any] = services.get_node

    def get_node(*arguments: Any, **named: Any) -> Any:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                return asked(*arguments, **named)
            except RuntimeError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    with patch.object(services, "get_node", get_node):
        yield


@contextmanager
def _lean() -> Generator[None]:
    """Leave out what Ray starts for a dashboard, for a terminal, and for a cluster that grows.

    Each is a process of Python's that takes 1 to 3 seconds of processor time; Ray waits for some.
    """
    from ray._private.node import Node

    with ExitStack() as without:
        without.enter_context(idle_agents())
        for name in _NEEDLESS:
            without.enter_context(patch.object(Node, name, _nothing))
        yield


def _nothing(*arguments: Any, **named: Any) -> None:
    del arguments, named


def _refusal(address: str | None, error: Exception) -> BadInput:
    if _is_refused(error):
        return BadInput(
            f"The Ray cluster at {address} was not joined: its token is missing or wrong. Give "
            f"the cluster's own in RAY_AUTH_TOKEN or ~/.ray/auth_token."
        )
    where = f"at {address} answers" if address is not None else "could be started here"
    reason = str(error).strip().partition("\n")[0][:200]
    return BadInput(f"No Ray cluster {where}: {reason}")


def _is_refused(error: Exception) -> bool:
    """Return whether a token was missing or wrong; of a wrong one only the cause's text tells."""
    from ray.exceptions import AuthenticationError

    return isinstance(error, AuthenticationError) or "AuthenticationError" in str(error.__cause__)
