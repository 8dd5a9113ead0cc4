"""One command of `capsweep` in a fork of this process, which has imported what it needs."""

import contextlib
import importlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_LOADED = (
    *("matplotlib.pyplot", "mlflow.tracking", "mlflow.store.tracking.sqlalchemy_store", "optuna"),
    *("ray", "ray.tune", "torch", "sweeps.execution.launch.launch", "sweeps.aggregation.report"),
    *("search_spaces.quickstart", "search_spaces.named.quickstart_search", "sklearn.datasets"),
    *("sweeps.tracking.mlflow.writer", "sweeps.aggregation.makers.kinds", "pandas"),
)
NOBODY = "127.0.0.1:1"


def forked(base: Path, words: tuple[str, ...], limit: float) -> int | None:
    """Give a command in a fork of this process; None where it had to be ended."""
    pid = os.fork()
    if pid == 0:
        _be_command(base, words)
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def _be_command(base: Path, words: tuple[str, ...]) -> None:
    """Become the command line: with a group, files and folders of its own, and no other host."""
    os.setsid()
    for target, name in ((1, "out"), (2, "err")):
        descriptor = os.open(base / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, target)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(base / "work")
    os.environ |= {"HOME": str(base / "tmp"), "TMPDIR": str(base / "tmp")}
    for variable in ("CAPSWEEP_STORAGE", "CAPSWEEP_TRACKING_URI"):
        os.environ.pop(variable, None)
    _watch_requests(base / "requests")
    sys.argv = ["capsweep", *words]
    code: Any = 1
    try:
        code = _command_line()()
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - as Python itself would
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _watch_requests(log: Path) -> None:
    """Note every host that this process would ask, and refuse it."""

    def refuse(_: Any, address: Any, *rest: Any) -> Any:
        if isinstance(address, tuple) and f"{address[0]}:{address[1]}" != NOBODY:
            with log.open("a") as file:
                file.write(f"{address[0]}:{address[1]}\n")
        raise ConnectionRefusedError("nobody listens there")

    socket.socket.connect = refuse  # type: ignore[method-assign]
    socket.socket.connect_ex = refuse  # type: ignore[method-assign]
    import ray

    def absent(*_: Any, **options: Any) -> None:
        raise ConnectionError("no cluster while a store is fuzzed")

    ray.init = absent


def _command_line() -> Callable[[], Any]:
    from sweeps.cli import main as command_line

    return command_line


def preload() -> None:
    """Import what commands need, once for all of them."""
    _command_line()
    for name in _LOADED:
        with contextlib.suppress(ImportError):  # of another state of the package
            importlib.import_module(name)
