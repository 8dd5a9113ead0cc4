"""A shell in a terminal of so many columns, by tmux, which is typed into and looked at."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, Self
from uuid import uuid4

from tests.pages import ROOT
from tests.waiting import wait_until

HEIGHT = 50
_PROMPT = re.compile(r"^<(\d+) (\d+)> ?", re.MULTILINE)


class Screen(NamedTuple):
    """What was seen of a command.

    Attributes:
        line: What was typed.
        text: What stood below it when it had ended, each line whole however often it wrapped.
        code: The exit code.
    """

    line: str
    text: str
    code: int


class Terminal:
    """A terminal with a shell in a folder; as a context it is closed at its end."""

    def __init__(self, folder: Path, width: int) -> None:
        self._socket = f"capsweep-{uuid4().hex[:12]}"  # a server of its own, which ends with it
        self._num_typed = 0
        mine = {name: text for name, text in os.environ.items() if "CAPSWEEP" not in name}
        mine["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        mine["PYTHONPATH"] = str(ROOT)
        mine["XDG_CACHE_HOME"] = str(folder / ".cache")  # without speeds of this user's checks
        size = ("-x", str(width), "-y", str(HEIGHT))
        shell = (sys.executable, "-m", "tests.tour.shell")
        self._tmux(
            "-f",
            os.devnull,
            "new-session",
            "-d",
            *size,
            "-c",
            str(folder),
            *shell,
            environment=mine,
        )
        wait_until(
            lambda: self._prompts() == [1], pause_seconds=0.1
        )  # what is typed before is echoed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server")

    def type(self, line: str) -> Screen:
        """Type a line, wait until the shell asks for the next one, and return what is seen."""
        self._tmux("send-keys", "-l", line)
        self._tmux("send-keys", "Enter")
        self._num_typed += 1
        wait_until(lambda: self._prompts()[-1:] == [self._num_typed + 1], pause_seconds=0.1)
        seen = self._seen()
        *_, before, after = _PROMPT.finditer(seen)
        typed, _, text = seen[before.end() : after.start()].partition("\n")
        assert typed == line
        return Screen(line, text.rstrip(), int(after[2]))

    def _prompts(self) -> list[int]:
        return [int(result[1]) for result in _PROMPT.finditer(self._seen())]

    def _seen(self) -> str:
        lines = self._tmux("capture-pane", "-p", "-J", "-S", "-").splitlines()
        return "\n".join(line.rstrip() for line in lines)

    def _tmux(self, *arguments: str, environment: dict[str, str] | None = None) -> str:
        command = ("tmux", "-L", self._socket, *arguments)
        return subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True
        ).stdout
