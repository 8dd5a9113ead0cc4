"""Ray started here, or a running cluster joined, always with token authentication.

Ray listens on every interface, and whoever reaches an open port may run code there. A session of
our own makes a token that is gone with it; a cluster's token comes from `RAY_AUTH_TOKEN` or
`~/.ray/auth_token`.
"""

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sweeps.execution.engine.ray_token import refuse_readable_token
from sweeps.execution.engine.scratch import scratch_folder
from sweeps.records.errors import BadInput

_QUIET = {
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # ours ends in two seconds at any epoch length
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",  # a trial whose cell is filled reports nothing
    "TUNE_GLOBAL_CHECKPOINT_S": "1000000000",  # Tune's snapshots are of no use to us
    "TUNE_PRINT_ALL_TRIAL_ERRORS": "0",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}


@contextmanager
def ray_session(address: str | None) -> Generator[Path]:
    """Start Ray here, or join the cluster at an address. Yields a scratch folder that goes with it.

    Raises:
        BadInput: If Ray runs in this process already, or the cluster does not answer, refuses the
            token, or others may read it.
    """
    ray = load_ray()
    if ray.is_initialized():
        raise BadInput("Ray is already running in this process: call ray.shutdown() first.")
    if address:
        refuse_readable_token()
    token = {} if address else {"RAY_AUTH_TOKEN": secrets.token_hex(32)}
    with scratch_folder() as scratch, _environment(_QUIET | token):
        _connect(ray, address, scratch)
        try:
            yield scratch
        finally:
            ray.shutdown()


def load_ray() -> Any:
    """Import ray with token authentication on, which it decides when it is first imported.

    Raises:
        BadInput: If it was imported before with authentication off.
    """
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    import ray
    from ray import _raylet

    compiled: Any = _raylet  # it ships no types
    if compiled.get_authentication_mode() != compiled.AuthenticationMode.TOKEN:
        raise BadInput(
            "Ray's token authentication is off in this process (RAY_AUTH_MODE is "
            f"'{os.environ['RAY_AUTH_MODE']}', or ray was imported before capsweep): set "
            "RAY_AUTH_MODE=token before Python starts."
        )
    return ray


def _connect(ray: Any, address: str | None, scratch: Path) -> None:
    from ray import _raylet
    from ray.exceptions import RayError

    compiled: Any = _raylet  # it ships no types
    compiled.AuthenticationTokenLoader.instance().reset_cache()  # of an earlier session
    options: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if address is None:
        options |= {
            "address": "local",
            "include_dashboard": False,
            "_temp_dir": str(scratch / "ray"),
        }
    else:
        options |= {"address": address}
    try:
        ray.init(**options)
    except (RayError, ConnectionError, RuntimeError, ValueError) as error:
        if _is_refused(error):
            raise BadInput(
                f"The Ray cluster at {address} was not joined: its token is missing or wrong. Give "
                f"the cluster's own in RAY_AUTH_TOKEN or ~/.ray/auth_token."
            ) from error
        where = f"at {address} answers" if address else "could be started here"
        reason = str(error).strip().partition("\n")[0][:200]
        raise BadInput(f"No Ray cluster {where}: {reason}") from error


def _is_refused(error: Exception) -> bool:
    """Return whether a token was missing or wrong; of a wrong one only the cause's text tells."""
    from ray.exceptions import AuthenticationError

    return isinstance(error, AuthenticationError) or "AuthenticationError" in str(error.__cause__)


@contextmanager
def _environment(variables: dict[str, str]) -> Generator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
