"""The words of commands that are told to the user: how this one was called, and its places."""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence

from sweeps.cli.options import STORAGE_VARIABLE, TRACKING_VARIABLE
from sweeps.tracking.addresses import public


def program() -> str:
    """Return how the user called capsweep."""
    if shutil.which("capsweep"):
        return "capsweep"
    beside = os.path.relpath(sys.argv[0])
    return sys.argv[0] if beside.startswith("..") else beside


def again(words: Sequence[str] | None = None) -> str:
    """Return the command that goes on with one, without passwords.

    Args:
        words: Of that command, behind the program's name; None for this one's.
    """
    once = {"--retrain", "--replace"}
    given = sys.argv[1:] if words is None else words
    return shlex.join([program(), *(public(word) for word in given if word not in once)])


def launch_again() -> str:
    """Return the command that launches what this one plans, without its seeds and its name."""
    planning = ("--effect", "--power", "--seeds", "--add-seeds", "--name")
    words, is_value = ["run"], False
    for word in (public(word) for word in sys.argv[sys.argv.index("plan") + 1 :]):
        option = word.partition("=")[0]
        if not is_value and option not in planning:
            words.append(word)
        is_value = not is_value and word in planning
    return shlex.join([program(), *words])


def where(storage: str | None, tracking_uri: str | None) -> str:
    """Return the options that lead to this command's records, "" where the environment does."""
    given = {
        "--storage": (storage, STORAGE_VARIABLE),
        "--tracking-uri": (tracking_uri and public(tracking_uri), TRACKING_VARIABLE),
    }
    options = [
        f" {option} {shlex.quote(value)}"
        for option, (value, variable) in given.items()
        if value and variable not in os.environ
    ]
    return "".join(options)
