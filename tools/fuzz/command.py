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

import psutil

_LOADED = (
    *("matplotlib.pyplot", "mlflow.tracking", "mlflow.store.tracking.sqlalchemy_store", "optuna"),
    *("ray", "ray.tune", "torch", "sweeps.execution.launch.launch", "sweeps.aggregation.report"),
    *("search_spaces.quickstart", "search_spaces.named.quickstart_search", "sklearn.datasets"),
    *("sweeps.tracking.mlflow.mlflow_writer", "sweeps.aggregation.tables.kinds", "pandas"),
)
NOBODY = "127.0.0.1:1"


def forked(base: Path, command: tuple[str, ...], limit: float) -> int | None:
    """Run a command in a fork of this process. None if it had to be ended."""
    return ended(started(base, command), limit)


def started(base: Path, command: tuple[str, ...]) -> int:
    """Give a command in a fork of this process, and return its process id."""
    for name in ("out", "err"):  # so that nobody reads the words of an earlier one
        (base / name).write_text("")
    pid = os.fork()
    if pid == 0:
        _be_command(base, command)
    return pid


def has_ended(pid: int) -> bool:
    """Return whether a command has ended; its exit code is still to be had."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def ended(pid: int, limit: float) -> int | None:
    """Wait for a command's end and return its exit code, or None if it had to be ended."""
    deadline = time.monotonic() + limit
    while not has_ended(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    if has_ended(pid):
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    processes = family(pid)
    os.killpg(pid, signal.SIGKILL)
    for process in processes:  # also those of another group, which a later round would meet
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    os.waitpid(pid, 0)
    return None


def family(pid: int) -> list[psutil.Process]:
    """Return the processes that a command has started, and theirs."""
    return psutil.Process(pid).children(recursive=True)


def _be_command(base: Path, command: tuple[str, ...]) -> None:
    """Become the command line: with a group, files and folders of its own, and no other host."""
    os.setsid()
    for target, name in ((1, "out"), (2, "err")):
        descriptor = os.open(base / name, os.O_WRONLY | os.O_APPEND)
        os.dup2(descriptor, target)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(base / "work")
    os.environ |= {"HOME": str(base / "tmp"), "TMPDIR": str(base / "tmp")}
    for variable in ("CAPSWEEP_STORAGE", "CAPSWEEP_TRACKING_URI"):
        os.environ.pop(variable, None)
    _watch_requests(base / "requests", may_ask_itself=command[0] == "ui")
    sys.argv = ["capsweep", *command]
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


def _watch_requests(log: Path, *, may_ask_itself: bool) -> None:
    """Note every host that this process would ask, and refuse it.

    What serves asks itself whether it does. The canary listens on loopback too, and tells itself.
    """
    connect_ex = socket.socket.connect_ex

    def refuse(_: Any, address: Any, *rest: Any) -> Any:
        if isinstance(address, tuple) and f"{address[0]}:{address[1]}" != NOBODY:
            with log.open("a") as file:
                file.write(f"{address[0]}:{address[1]}\n")
        raise ConnectionRefusedError("nobody listens there")

    def ask(asking: socket.socket, address: Any, *rest: Any) -> Any:
        is_itself = may_ask_itself and isinstance(address, tuple) and address[0] == "127.0.0.1"
        return (connect_ex if is_itself else refuse)(asking, address, *rest)

    socket.socket.connect = refuse  # type: ignore[method-assign]
    socket.socket.connect_ex = ask  # type: ignore[method-assign]
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
