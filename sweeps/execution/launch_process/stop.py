"""Stop a launch from another shell, by the signals that its own terminal would send."""

import signal
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from sweeps.execution.launch_process.launch_lock import LaunchProcess, process_of
from sweeps.execution.sweep_log import is_launching, locked_names
from sweeps.records.errors import BadInput
from sweeps.storage.locations import Storage, resolve_storage
from sweeps.tracking.validation import valid_names

POLL_SECONDS = 0.1


@dataclass(frozen=True)
class RunningLaunch:
    """A launch that runs on this machine.

    Attributes:
        journals: The folder of its lock.
        command: Its command line; empty if that cannot be read.
        folder: Its working folder; None likewise.
    """

    sweep: str
    journals: Path
    process: psutil.Process
    command: tuple[str, ...] = ()
    folder: Path | None = None

    def ask_to_end(self, *, is_now: bool) -> None:
        """Ask it to end as one Ctrl-C does, however often it is called; with `is_now` as two do.

        Raises:
            BadInput: If it is another user's.
        """
        # the time limit's signal counts once, however often it comes
        numbers = (signal.SIGINT, signal.SIGTERM) if is_now else (signal.SIGALRM,)
        try:
            for number in numbers:
                if not self._is_running:  # without its handlers, the signal would kill it
                    return
                self.process.send_signal(number)
        except psutil.NoSuchProcess:  # it has ended by itself
            return
        except psutil.AccessDenied as error:
            raise BadInput(
                f"The launch of '{self.sweep}' is process {self.process.pid} of another user, and "
                f"was not stopped: ask who started it."
            ) from error

    @property
    def _is_running(self) -> bool:
        noted = process_of(self.journals, self.sweep)
        is_noted = noted is not None and noted.pid == self.process.pid
        return is_noted and is_launching(self.journals, self.sweep)

    def wait(self) -> None:
        """Wait until it has ended."""
        while is_launching(self.journals, self.sweep):
            time.sleep(POLL_SECONDS)


def running_launch(sweep: str, storage_folder: str | Path | None = None) -> RunningLaunch:
    """Return the running launch of a sweep in a storage folder.

    Raises:
        BadInput: If there is none, or it cannot be stopped from here.
    """
    storage = resolve_storage(storage_folder)
    check_runs(sweep, storage, "nothing was stopped")
    journals = storage.journals
    noted = process_of(journals, sweep)
    process = noted.find() if noted and noted.is_of_this_host else None
    if noted is None or process is None or not noted.hears_signals:
        raise BadInput(_out_of_reach(sweep, noted))
    try:
        with process.oneshot():
            command, folder = tuple(process.cmdline()), Path(process.cwd())
            return RunningLaunch(sweep, journals, process, command, folder)
    except psutil.Error:
        return RunningLaunch(sweep, journals, process)


def check_runs(sweep: str, storage: Storage, consequence: str) -> None:
    """Check that a launch of a sweep runs over a storage folder.

    Raises:
        BadInput: If there is none; says so, with the consequence.
    """
    if not storage.root.is_dir():
        raise BadInput(f"There is no storage folder {storage.root}: name it with --storage.")
    if not valid_names([sweep]) or not is_launching(storage.journals, sweep):
        raise BadInput(
            f"No launch of '{sweep}' runs over {storage.root}, so {consequence}. "
            f"{_running_in(storage)}"
        )


def _running_in(storage: Storage) -> str:
    named = valid_names(locked_names(storage.journals))
    return f"Running there: {', '.join(sorted(named))}." if named else "Nothing runs there."


def _out_of_reach(sweep: str, noted: LaunchProcess | None) -> str:
    """Return why a running launch cannot be stopped from here, and what to do."""
    if noted is None:
        return (
            f"'{sweep}' is locked by a process that does not identify itself: clean, repair or "
            f"delete. Wait for it, or press Ctrl-C there."
        )
    if not noted.is_of_this_host:
        return (
            f"The launch of '{sweep}' runs on {noted.host}, not on this machine: give the command "
            f"there, or press Ctrl-C where it was started (process {noted.pid})."
        )
    if not noted.hears_signals:
        return (
            f"The launch of '{sweep}' runs in a thread of process {noted.pid}, which receives no "
            f"signals: interrupt it there, in its notebook or program."
        )
    return (
        f"'{sweep}' is locked by another process than the {noted.pid} that it names: wait a "
        f"moment, "
        f"and give the command again."
    )
