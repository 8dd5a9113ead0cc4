"""What `--notify` does: once a launch has ended, a command of the user's reads how it ended."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Literal

from sweeps.execution.interruption import on_forced_exit
from sweeps.execution.launch.progress import UNENDED
from sweeps.execution.launch.result import INTERRUPTED, SweepResult
from sweeps.execution.view.live_view import VIEW_VARIABLE, print_line
from sweeps.records.errors import SweepError
from sweeps.records.launch_command import RESUME_VARIABLE
from sweeps.records.notify_command import program_of, words_of
from sweeps.records.plain_text import one_line

MOST_SECONDS = 60.0
_OF_THIS_LAUNCH = {RESUME_VARIABLE, VIEW_VARIABLE}
"""Variables that a launch which the command starts must not take for its own."""
Outcome = Literal["complete", "incomplete", "failed", "interrupted"]


@contextmanager
def notified(command: str | None) -> Generator[Callable[[Callable[[], SweepResult]], None]]:
    """Run a command once at the end of the block, however that ends, if a launch began in it.

    The block passes what returns the launch's result to the function that it gets. A command that
    fails is named in a line and changes nothing.

    Args:
        command: None for none.
    """
    begun: list[Callable[[], SweepResult]] = []
    try:
        yield begun.append
    finally:
        for result in begun if command is not None else ():
            try:
                message = message_of(result())
            except (OSError, SweepError) as error:  # the storage is gone
                print_line(f"--notify was not run, as the end cannot be told: {error}")
            else:
                _run(words_of(command or ""), message)


def message_of(result: SweepResult) -> str:
    """Return the line of JSON that the command reads."""
    report = result.report
    paths = report.paths if report else ()
    page = next((path for path in paths if path.name == "report.html"), None)
    message = {
        "sweep": result.sweep,
        "outcome": outcome_of(result),
        "answer": one_line(report.headline) if report else None,
        "report": str(page.absolute()) if page else None,
        "num_cells": result.num_cells,
        "num_filled": result.num_filled,
        "num_failed": len(result.failures),
    }
    return json.dumps(message)


def outcome_of(result: SweepResult) -> Outcome:
    """Return how a launch ended, by the words with which `status` lists sweeps."""
    if result.exit_code == INTERRUPTED:
        return "interrupted"
    if result.exit_code == 0:
        return "complete"
    return "failed" if result.failures or result.exit_code == UNENDED else "incomplete"


def _run(words: Sequence[str], message: str) -> None:
    """Run the command with a message on its standard input; print in a line why it failed.

    What it prints goes to standard error, as standard output may be for an answer in JSON.
    """
    name = program_of(words)
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=2,
            env={name: text for name, text in os.environ.items() if name not in _OF_THIS_LAUNCH},
            text=True,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its words cannot be passed"
        print_line(f"--notify: '{name}' cannot be run ({reason}). The launch has ended as it says.")
        return
    with on_forced_exit(lambda: _kill(process)):
        try:
            process.communicate(f"{message}\n", timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            why = f"took more than {MOST_SECONDS:.0f} s and was killed"
        except KeyboardInterrupt:
            why = "was interrupted and killed"
        else:
            why = _failure(process.returncode)
        _kill(process)
        process.communicate()  # which also closes the pipe
    if why:
        print_line(f"--notify: '{name}' {why}. The launch has ended as it says.")


def _failure(exit_code: int) -> str:
    """Return why a command failed, "" if it did not."""
    if exit_code < 0:
        return f"was killed by signal {-exit_code}"
    return f"ended with exit code {exit_code}" if exit_code else ""


def _kill(process: "subprocess.Popen[str]") -> None:
    """Kill a command with all that it has started in its process group."""
    if process.returncode is None:  # until then its id is its own
        os.killpg(process.pid, signal.SIGKILL)
