"""The processes of one run of chaos, known by a mark in their environment."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

MARK = "CHAOS_RUN"
_RECORDER = "sweeps.execution.recorder"
_ENGINE = "sweeps.execution.engine.tune.engine_process"


def marked() -> Iterator[psutil.Process]:
    """Yield the living processes that bear the mark which this process gives its children."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            is_alive = process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE
            if is_alive and process.environ().get(MARK) == os.environ[MARK]:
                yield process


def trainers(storage: Path) -> list[psutil.Process]:
    """Return the processes that have the lock of a cell open: each trains it, or is about to."""
    cells = str(storage / "cells")
    return [
        process
        for process in marked()
        if any(path.startswith(cells) and path.endswith("/lock") for path in _open(process))
        and not _runs(process, _RECORDER)
    ]


def recorders() -> list[psutil.Process]:
    """Return the processes that carry records."""
    return [process for process in marked() if _runs(process, _RECORDER)]


def engines() -> list[psutil.Process]:
    """Return the processes that hold Ray and Tune for a driver."""
    return [process for process in marked() if _runs(process, _ENGINE)]


def below(process: psutil.Process, name: str) -> list[psutil.Process]:
    """Return the child processes with a name."""
    with suppress(psutil.Error):
        return [child for child in process.children(recursive=True) if child.name() == name]
    return []


def family(leader: int) -> list[psutil.Process]:
    """Return a process and all that it has started."""
    with suppress(psutil.Error):
        process = psutil.Process(leader)
        return [process, *process.children(recursive=True)]
    return []


def kill_all(processes: list[psutil.Process]) -> None:
    """SIGKILL processes; all are stopped first, so that none cleans up after another."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for process in processes:
            with suppress(psutil.Error):
                process.send_signal(number)


def kill_marked() -> None:
    """SIGKILL all that is left."""
    while alive := list(marked()):
        kill_all(alive)
        psutil.wait_procs(alive, timeout=5)


def _runs(process: psutil.Process, module: str) -> bool:
    with suppress(psutil.Error):
        return module in process.cmdline()
    return False


def _open(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return [file.path for file in process.open_files()]
    return []
