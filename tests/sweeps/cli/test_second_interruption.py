"""A second Ctrl-C ends a launch at once, leaves a sound terminal, and says how to go on."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS

HIDE, SHOW = b"\x1b[?25l", b"\x1b[?25h"
# a launch that shows its live view, and whose ending never ends
LAUNCH = """
import sys, time
from pathlib import Path
from sweeps.cli import main
from sweeps.execution.interruption import interruptible
from sweeps.execution.view.board import Board
from sweeps.execution.view.live_view import output_to_log, show_in_terminal
from sweeps.execution.launch import launch as launching

def launch(sweep, options, policies):
    with interruptible(), output_to_log(Path("log.txt")) as terminal:
        with show_in_terminal(Board([], {}, None), sweep, terminal):
            try:
                Path("started").touch()
                time.sleep(1000)
            except KeyboardInterrupt:
                Path("stopping").touch()
                print("this goes to the log")
                time.sleep(1000)

launching.launch = launch
sys.argv = ["capsweep", "run", "quickstart", *sys.argv[1:]]
main()
"""


class Launched:
    """Such a launch on a terminal of its own."""

    def __init__(self, folder: Path, *arguments: str, is_piped: bool = False) -> None:
        self._folder = folder
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if is_piped else theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        )
        os.close(theirs)

    def interrupt_once(self, name: str) -> None:
        """Send Ctrl-C once a file tells how far it is."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (self._folder / name).exists():
            assert self.process.poll() is None, self.screen()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        self.process.send_signal(signal.SIGINT)

    def screen(self) -> bytes:
        """Return all that came to the terminal, once it is over."""
        output = b""
        while True:
            try:
                part = os.read(self._ours, 65536)
            except OSError:  # as Linux tells the end of a terminal
                part = b""
            if not part:
                os.close(self._ours)
                return output
            output += part


@pytest.mark.parametrize("stage", ["live", "json"])
def test_a_second_ctrl_c_leaves_a_sound_terminal_and_the_way_on(tmp_path: Path, stage: str) -> None:
    launched = Launched(tmp_path, *["--json"] * (stage == "json"), is_piped=stage == "json")
    launched.interrupt_once("started")
    launched.interrupt_once("stopping")
    out, _ = launched.process.communicate(timeout=PATIENCE_SECONDS)
    output = launched.screen()
    assert launched.process.returncode == 130
    assert HIDE in output, "or it shows nothing live"
    assert output.rindex(SHOW) > output.rindex(HIDE)
    assert "this goes to the log" in (tmp_path / "log.txt").read_text()
    if stage == "json":
        answer = json.loads(out)
        assert (answer["format"], answer["exit_code"]) == ("capsweep.error/1", 130)
        assert answer["error"].endswith("run quickstart --json")
        assert b"Go on with" not in output
    else:
        last = output[output.rindex(SHOW) :].decode()
        assert "ended at once; finished trials and the last checkpoints are kept. Go on" in last
        assert last.rstrip().endswith("run quickstart")
