"""The commands that capsweep suggests: how this one was called, and its places."""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from sweeps.cli.options import STORAGE_VARIABLE, TRACKING_VARIABLE
from sweeps.records.launch_command import RESUME_VARIABLE
from sweeps.records.plain_text import one_line
from sweeps.tracking.addresses import public

_ONLY_ONCE = {"--retrain", "--replace"}
_OF_PLANNED_SEEDS = ("--effect", "--power", "--seeds", "--add-seeds", "--name")


def program_name() -> str:
    """Return how the user called capsweep."""
    if shutil.which("capsweep"):
        return "capsweep"
    relative = os.path.relpath(sys.argv[0])
    return sys.argv[0] if relative.startswith("..") else relative


def resume_command(words: Sequence[str] | None = None) -> str:
    """Return the command that resumes a launch, without passwords.

    Args:
        words: Words of the launch's command after the program's name; None for this process's, or
            what submits it again where it was submitted.
    """
    if words is None and (submitting := os.environ.get(RESUME_VARIABLE)):
        return submitting
    given = sys.argv[1:] if words is None else words
    return shlex.join([program_name(), *(public(word) for word in given if word not in _ONLY_ONCE)])


def followed(command: str) -> str:
    """Return the command that submits a sweep, with --follow before what is for sbatch."""
    options, separator, sbatch = command.partition(" -- ")
    return f"{options} --follow{separator}{sbatch}"


def resume_hint(words: Sequence[str], folder: Path | None, sweep: str) -> str:
    """Return the command that resumes somebody's launch, and the folder in which to give it.

    Args:
        words: Words of the launch's command after the program's name; none if it had none.
        folder: Where it was given, None where that is not known.
        sweep: Name of the sweep.
    """
    if not words:
        return f"the same call or command again, of the sweep '{sweep}'."
    is_here = words[0] == "submit" or folder in {None, Path.cwd()}  # a job's folder is its own
    place = "" if is_here else f"   (in {folder})"
    return one_line(resume_command(words) + place)


def is_submitted() -> bool:
    """Return whether this process runs a sweep that was submitted from another machine."""
    return RESUME_VARIABLE in os.environ


def launch_command() -> str:
    """Return the command that launches what this one plans, without its seeds and its name."""
    words, is_value = ["run"], False
    for word in (public(word) for word in sys.argv[sys.argv.index("plan") + 1 :]):
        option = word.partition("=")[0]
        if not is_value and option not in _OF_PLANNED_SEEDS:
            words.append(word)
        is_value = not is_value and word in _OF_PLANNED_SEEDS
    return shlex.join([program_name(), *words])


def place_options(storage: str | Path | None, tracking_uri: str | None) -> str:
    """Return the options that lead to this command's records, "" where the environment does."""
    given = {
        "--storage": (str(storage or ""), STORAGE_VARIABLE),
        "--tracking-uri": (tracking_uri and public(tracking_uri), TRACKING_VARIABLE),
    }
    options = [
        f" {option} {shlex.quote(value)}"
        for option, (value, variable) in given.items()
        if value and variable not in os.environ
    ]
    return "".join(options)
