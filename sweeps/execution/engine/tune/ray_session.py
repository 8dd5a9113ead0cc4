"""Ray started here, or a running cluster joined, always with token authentication.

Ray listens on every interface, and whoever reaches an open port may run code. The driver makes a
token for a Ray that is started here and puts it into the environment of this process. The token of
a cluster comes from `RAY_AUTH_TOKEN` or `~/.ray/auth_token`.
"""

import os
import socket
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import psutil

from sweeps.execution.engine.cgroup import num_cores
from sweeps.execution.engine.placement import Machine
from sweeps.execution.engine.tune.ray_private import own_ray_start
from sweeps.records.errors import BadInput

_LOOPBACK_SECONDS = 10.0
_ANSWER_SECONDS = 2.0
_NEEDED = ("gcs_server", "raylet")


@contextmanager
def ray_session(address: str | None, scratch: str, num_ready: int | None = None) -> Generator[None]:
    """Start Ray here, or join the cluster at an address.

    Args:
        address: Address of the cluster; None starts Ray here.
        scratch: Folder for the files and sockets of a Ray that is started here.
        num_ready: How many worker processes such a Ray starts at once; None for none.

    Raises:
        BadInput: If the cluster does not answer or refuses the token, or Ray does not start, or
            could not as this machine has no loopback.
    """
    if address is None:
        _check_loopback()
    import ray
    from ray.exceptions import RayError

    options: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if address is None:
        os.environ["RAY_TMPDIR"] = scratch
        options |= {"address": "local", "include_dashboard": False, "num_cpus": num_cores()}
    else:
        options |= {"address": address}
    try:
        with own_ray_start(num_ready) if address is None else nullcontext():
            ray.init(**options)
    except (RayError, OSError, RuntimeError, ValueError) as error:
        raise _refusal(address, error) from error
    try:
        yield
    finally:
        ray.shutdown()


def _check_loopback() -> None:
    """Connect to this process by the loopback, as Ray's processes do; they wait in vain for it."""
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_connection(server.getsockname(), timeout=_LOOPBACK_SECONDS),
        ):
            return
    except OSError as error:
        raise BadInput(
            f"Ray cannot be started: its processes reach each other at 127.0.0.1, and no "
            f"connection can be made there ({error.strerror or error}). In a container or network "
            f"namespace, switch it on: ip link set lo up."
        ) from error


def ray_machines() -> tuple[Machine, ...]:
    """Return the machines of the Ray session."""
    import ray

    alive = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return tuple(Machine(cpus=has.get("CPU", 0.0), gpus=has.get("GPU", 0.0)) for has in alive)


class GoneMachine(NamedTuple):
    """A machine that the Ray session has lost."""

    name: str
    address: str


def gone_machines() -> dict[str, GoneMachine]:
    """Return the machines that the Ray session has lost, by their ids."""
    import ray

    return {
        node["NodeID"]: GoneMachine(
            node["NodeManagerHostname"] or node["NodeManagerAddress"], node["NodeManagerAddress"]
        )
        for node in ray.nodes()
        if not node["Alive"]
    }


def is_gone(address: str) -> bool:
    """Return whether a machine of the Ray session is gone, which Ray itself notices later."""
    import ray

    nodes = [node for node in ray.nodes() if node["NodeManagerAddress"] == address]
    ports = [node["NodeManagerPort"] for node in nodes if node["Alive"]]
    return not ports or not all(_is_open(address, port) for port in ports)


def _is_open(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=_ANSWER_SECONDS):
            return True
    except OSError:
        return False


def needed_processes() -> tuple[int, ...]:
    """Return the ids of the processes without which the Ray that was started here is dead."""
    children = psutil.Process().children()
    return tuple(child.pid for child in children if child.name() in _NEEDED)


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
    """Return whether a token was missing or wrong; a wrong one shows only in the cause's text."""
    from ray.exceptions import AuthenticationError

    return isinstance(error, AuthenticationError) or "AuthenticationError" in str(error.__cause__)
