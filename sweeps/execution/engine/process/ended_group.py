"""The end of a process and of all that it has started, whatever state they are in."""

import os
import time
from contextlib import suppress

import psutil

_PATIENCE_SECONDS = 10.0
_LOOK_SECONDS = 0.005


def end_group(leader: int) -> None:
    """Kill a process and those of its session, and wait until none of them runs.

    Checkpoints are atomic, so nothing is lost by it; a stopped process is killed too. What nobody
    has collected yet is dead all the same: an init may take seconds to do so.

    Args:
        leader: A process that leads a session of its own.
    """
    killed: list[psutil.Process] = []
    while family := [process for process in _family(leader) if process not in killed]:
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        killed += family  # those that were being started meanwhile are seen in the next round
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while any(map(is_alive, killed)) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)


def _family(leader: int) -> list[psutil.Process]:
    """Return the living processes of a session, and their children of other sessions."""
    family: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        if _is_of(process, leader):
            family[process.pid] = process
            with suppress(psutil.Error):
                family |= {child.pid: child for child in process.children(recursive=True)}
    return [process for process in family.values() if is_alive(process)]


def is_alive(process: psutil.Process) -> bool:
    """Return whether a process runs, or could."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _is_of(process: psutil.Process, leader: int) -> bool:
    try:
        return os.getsid(process.pid) == leader
    except OSError:
        return False
