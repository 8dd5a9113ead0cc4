"""The console script in a process of its own, as a person starts it in a folder."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.waiting import PATIENCE_SECONDS

_SCRIPT = Path(sys.executable).with_name("capsweep")
_MAIN = f"""\
import sys
from sweeps.command import main_process
sys.argv[0] = {str(_SCRIPT)!r}
main_process()
"""


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, what it printed, and how long it took."""

    code: int
    output: str
    errors: str
    seconds: float

    def explained(self) -> str:
        """Return all of it, for the message of a failed assertion."""
        return f"exit code {self.code} after {self.seconds:.1f} s\n{self.output}\n{self.errors}"


class Command:
    """A capsweep command that is running.

    Its output goes to files, so that processes that outlive it hold no pipe open.

    Args:
        folder: Where it is given.
        *arguments: What follows `capsweep`.
        patch: Python statements that its process executes first.
    """

    def __init__(self, folder: Path, *arguments: str, patch: str = "") -> None:
        self._started = time.monotonic()
        number = len(list(folder.glob("command-*.out")))
        self._out = folder / f"command-{number}.out"
        self._err = folder / f"command-{number}.err"
        program = [sys.executable, "-P", "-c", f"{patch}\n{_MAIN}"] if patch else [str(_SCRIPT)]
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(
                [*program, *arguments],
                cwd=folder,
                env=clean_environment(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,  # a process group of its own, as a terminal gives it
            )

    @property
    def pid(self) -> int:
        """The driver's process id, and that of its group."""
        return self._process.pid

    def is_running(self) -> bool:
        """Return whether the driver is alive."""
        return self._process.poll() is None

    def wait(self) -> Ended:
        """Wait for its end."""
        try:
            code = self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill_all()
            raise
        took = time.monotonic() - self._started
        return Ended(code, self._out.read_text(), self._err.read_text(), took)

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until something holds while the driver runs."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert self.is_running(), f"it ended too soon: {self.wait().explained()}"
            if time.monotonic() > deadline:
                self.kill_all()
                raise AssertionError(f"waited too long: {self.wait().explained()}")
            time.sleep(0.01)

    def interrupt(self, *, group: bool = False) -> Ended:
        """Send SIGINT to the driver, or to its whole group as a terminal does, and wait."""
        (os.killpg if group else os.kill)(self.pid, signal.SIGINT)
        sent = time.monotonic()
        ended = self.wait()
        return Ended(ended.code, ended.output, ended.errors, time.monotonic() - sent)

    def family(self) -> list[psutil.Process]:
        """Return the driver and everything it started, the recorder in its own session too."""
        driver = psutil.Process(self.pid)
        return [driver, *driver.children(recursive=True)]

    def kill_all(self) -> list[str]:
        """SIGKILL the driver and everything it started; return their names once all are gone.

        All are stopped first, so that none starts another or cleans up after one that died.
        """
        family: dict[int, psutil.Process] = {}
        names: list[str] = []
        while new := [process for process in self.family() if process.pid not in family]:
            for process in new:
                family[process.pid] = process
                names.append(process.name())
                _signal(process, signal.SIGSTOP)
        for process in family.values():
            _signal(process, signal.SIGKILL)
        self._process.wait(PATIENCE_SECONDS)
        _, alive = psutil.wait_procs(list(family.values()), timeout=PATIENCE_SECONDS)
        assert not alive, alive
        return names


class Terminal:
    """A folder in which commands are given. None of them outlives it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.storage = folder / "capsweep-store"
        self.database = self.storage / "mlflow.db"
        self._commands: list[Command] = []

    def start(self, *arguments: str, patch: str = "") -> Command:
        """Start a capsweep command, in a process that executes `patch` first."""
        self._commands.append(Command(self.folder, *arguments, patch=patch))
        return self._commands[-1]

    def run(self, *arguments: str) -> Ended:
        """Run a capsweep command to its end."""
        return self.start(*arguments).wait()

    def close(self) -> None:
        """Kill what is left of the commands."""
        for command in self._commands:
            if command.is_running():
                command.kill_all()


def clean_environment() -> dict[str, str]:
    """Return the environment without what would reach capsweep, Ray or MLflow from outside.

    What stays says nothing of a sweep: the folder of the data, and whether Ray runs as it is.
    """
    foreign = re.compile(r"(CAPSWEEP_(?!DATA|PLAIN_RAY)|RAY_|MLFLOW_|PYTEST_).*")
    remaining = {name: value for name, value in os.environ.items() if not foreign.fullmatch(name)}
    return remaining | {"OMP_NUM_THREADS": "1"}


def _signal(process: psutil.Process, number: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process.send_signal(number)
