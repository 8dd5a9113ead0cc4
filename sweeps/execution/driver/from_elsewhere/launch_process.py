"""Which process runs a sweep, as it says so itself in the lock that it holds.

The lock dies with its process, what is written in it does not, and a process's number is given to
another one later: so a note counts only while the lock is held, on the machine that it names, and
of the process that began when it says.
"""

import os
import platform
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from pydantic import BaseModel, ConfigDict, ValidationError

from sweeps.execution.driver.interruption import in_main_thread
from sweeps.storage.file_lock import FileLock
from sweeps.storage.regular_files import read_regular

_MOST_BYTES = 1000
_CLOCK_SECONDS = 2.0  # by which a clock that is set meanwhile may move a process's start


class LaunchProcess(BaseModel):
    """The process of a launch.

    Attributes:
        host: The machine's name.
        pid: Its number there.
        started: When the process began, seconds since 1970.
        hears_signals: Whether they interrupt the launch: not outside a process's main thread.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str
    pid: int
    started: float
    hears_signals: bool

    @property
    def is_of_this_host(self) -> bool:
        """Whether it runs on this machine."""
        return self.host == platform.node()

    def find(self) -> psutil.Process | None:
        """Return the process itself, None where it is gone. Only on its own host."""
        try:
            process = psutil.Process(self.pid)
        except (psutil.NoSuchProcess, ValueError, OverflowError):
            return None
        is_it = abs(process.create_time() - self.started) <= _CLOCK_SECONDS
        return process if is_it else None


@contextmanager
def noted_in(lock: FileLock) -> Generator[None]:
    """Have this process noted in a lock that it holds, while the block runs."""
    own = psutil.Process()
    note = LaunchProcess(
        host=platform.node(),
        pid=own.pid,
        started=own.create_time(),
        hears_signals=in_main_thread(),
    )
    with suppress(OSError):  # a full disk: then it can be stopped by Ctrl-C alone
        os.ftruncate(lock.descriptor, 0)
        os.pwrite(lock.descriptor, note.model_dump_json().encode(), 0)
    try:
        yield
    finally:
        with suppress(OSError):
            os.ftruncate(lock.descriptor, 0)


def noted_process(lock: Path) -> LaunchProcess | None:
    """Return the process that is noted in a lock, None where none is or that cannot be read."""
    try:
        return LaunchProcess.model_validate_json(read_regular(lock, _MOST_BYTES))
    except (OSError, ValidationError, ValueError):
        return None
