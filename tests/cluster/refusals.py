"""Commands that are refused in one sentence."""

import subprocess
import time
from collections.abc import Callable
from typing import NamedTuple

_MOST_SECONDS = 300.0  # on two busy cores; most end within seconds


class Wrong(NamedTuple):
    """A command that is refused.

    Attributes:
        line: The command, after `env`.
        sentence: A part of what it says.
    """

    line: str
    sentence: str


def complaint(run: "Callable[..., subprocess.CompletedProcess[str]]", wrong: Wrong) -> str:
    """Return what is not right about how a command is refused, "" if all is.

    Args:
        run: Takes the command and `timeout` in seconds.
        wrong: The command.
    """
    started = time.monotonic()
    try:
        ended = run("env", *wrong.line.split(), timeout=_MOST_SECONDS)
    except subprocess.TimeoutExpired:
        return f"{wrong.line}: hangs"
    errors = ended.stderr.strip().splitlines()
    is_right = ended.returncode == 2 and len(errors) == 1 and errors[0].startswith("capsweep: ")
    if is_right and wrong.sentence in errors[0]:
        return ""
    took = time.monotonic() - started
    return f"{wrong.line}: {took:.0f} s, {ended.returncode}: {ended.stdout[-300:]} {errors}"
