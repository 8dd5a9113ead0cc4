"""One command, given again whenever it has not done all, as its advice says."""

import subprocess
import sys
import time
from pathlib import Path

from tools.chaos.world import World, report_progress

MOST_LAUNCHES = 25
_CAPSWEEP = str(Path(sys.executable).with_name("capsweep"))
_REST_SECONDS = 2.0
_ADVICE = "does not answer"


class Launches:
    """The launches of one sweep, one at a time.

    Attributes:
        codes: Exit code of each that has ended.
        problems: Sentences on those that ended as none may.
        environment: Of those to come.
        is_done: Whether one has ended with exit code 0.
    """

    def __init__(self, world: World, arguments: list[str], *, joins_cluster: bool) -> None:
        self._world = world
        self._arguments = arguments
        self.environment = dict(world.environment(joins_cluster=joins_cluster))
        self._folder = world.folder
        self.codes: list[int] = []
        self.problems: list[str] = []
        self.is_done = False
        self._not_before = 0.0
        self._driver: subprocess.Popen[bytes] | None = None
        self._may_be_away = False
        self._out = Path()

    @property
    def driver(self) -> "subprocess.Popen[bytes] | None":
        """The driver while it runs."""
        return self._driver if self._driver and self._driver.poll() is None else None

    @property
    def is_over(self) -> bool:
        """Whether nothing is launched any more."""
        return self.is_done or bool(self.problems)

    def tend(self) -> None:
        """Launch it if it is due, and check how it ended."""
        if self._driver is None:
            if time.monotonic() > self._not_before:
                self._launch()
            return
        self._may_be_away |= self._world.is_store_disturbed
        if (code := self._driver.poll()) is not None:
            self._driver = None
            self._not_before = time.monotonic() + _REST_SECONDS
            self._judge(code)

    def close(self) -> None:
        """Kill the driver if it runs."""
        if self._driver:
            self._driver.kill()
            self._driver.wait()

    def last_lines(self) -> str:
        """Return the end of what the last launch printed, in one line."""
        return " ".join(self._printed().split())[-300:]

    def _printed(self) -> str:
        paths = [path for path in (self._out, self._err) if path.is_file()]
        return "".join(path.read_text(errors="replace") for path in paths)

    @property
    def _err(self) -> Path:
        return self._out.with_suffix(".err")

    def _launch(self) -> None:
        number = len(list(self._folder.glob("launch-*.out")))
        self._out = self._folder / f"launch-{number}.out"
        self._may_be_away = self._world.is_store_disturbed
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._driver = subprocess.Popen(
                [_CAPSWEEP, *self._arguments],
                cwd=self._folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def _judge(self, code: int) -> None:
        self.codes.append(code)
        said = self._printed()
        self.is_done = code == 0
        if code in {2, 3}:
            report_progress(f"exit code {code}: {self.last_lines()}")
        was_away = code == 2 and self._may_be_away and _ADVICE in said
        if "Traceback" in said:
            self.problems.append(f"a launch printed a traceback: {self._out}")
        elif code not in {0, 3, 130, -9, -15} and not was_away:
            self.problems.append(f"a launch ended with exit code {code}: {self._out}")
        elif len(self.codes) == MOST_LAUNCHES and not self.is_done:
            self.problems.append(f"{MOST_LAUNCHES} launches have not done it: {self._out}")
