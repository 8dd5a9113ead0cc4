"""The commands that capsweep suggests: how this one was called, and its places."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from typer import Context

from sweeps.records.launch_command import RESUME_VARIABLE
from sweeps.records.plain_text import one_line
from sweeps.records.suggested_command import PLAIN_VARIABLE, SuggestedCommand
from sweeps.tracking.addresses import public

_OF_SUBMIT = {"--to", "--on", "--follow", "--nodes", "--gpus-per-node", "--cpus-per-node"}
_OF_SBATCH = {
    "-N": "--nodes",
    "-p": "--partition",
    "-t": "--time",
    "-c": "--cpus-per-node",
    "--cpus-per-task": "--cpus-per-node",
    "-G": "--gpus-per-node",
    "--gpus": "--gpus-per-node",
    "--gres": "--gpus-per-node",
    "-J": "--name",
    "--job-name": "--name",
}
"""Option of sbatch -> ours in its place."""
_LIKE = 0.8  # of 1; less, and options of sbatch are taken for slips of ours
_SETTING = re.compile(r"[A-Za-z_][\w.\[\]]*=.*", re.DOTALL)
_ONLY_ONCE = {"--retrain", "--replace"}
_WITHOUT_RECORDS = {"check", "cluster", "list", "new", "parts"}
WITHOUT_PLACE = {"storage": _WITHOUT_RECORDS, "tracking_uri": {*_WITHOUT_RECORDS, "stop", "limit"}}
"""Option for a place -> the commands that do not take it."""
_OF_PLANNED_SEEDS = ("--effect", "--power", "--seeds", "--add-seeds", "--name")


def program_name() -> str:
    """Return how the user called capsweep."""
    if shutil.which("capsweep"):
        return "capsweep"
    relative = os.path.relpath(sys.argv[0])
    return sys.argv[0] if relative.startswith("..") else relative


def resume_command(arguments: Sequence[str] | None = None) -> str:
    """Return the command that resumes a launch, without passwords.

    Args:
        arguments: Those of the launch's command after the program's name; None for this process's,
            or what submits it again where it was submitted.
    """
    if arguments is None and (submitting := os.environ.get(RESUME_VARIABLE)):
        return submitting
    typed = sys.argv[1:] if arguments is None else arguments
    return shlex.join([program_name(), *(public(word) for word in typed if word not in _ONLY_ONCE)])


def followed(command: str) -> str:
    """Return the command that submits a sweep, with --follow before what is for sbatch."""
    options, separator, sbatch = command.partition(" -- ")
    return f"{options} --follow{separator}{sbatch}"


def resume_hint(arguments: Sequence[str], folder: Path | None, sweep: str) -> str:
    """Return the command that resumes somebody's launch, and the folder in which to give it.

    Args:
        arguments: Those of the launch's command after the program's name; none if it had none.
        folder: Where it was given, None where that is not known.
        sweep: Name of the sweep.
    """
    if not arguments:
        return f"the same call or command again, of the sweep '{sweep}'."
    is_here = arguments[0] == "submit" or folder in {None, Path.cwd()}  # a job's folder is its own
    place = "" if is_here else f"   (in {folder})"
    return one_line(resume_command(arguments) + place)


def is_submitted() -> bool:
    """Return whether this process runs a sweep that was submitted from another machine."""
    return RESUME_VARIABLE in os.environ


def misplaced_option(option: str, near: Sequence[str]) -> str:
    """Return what to do with an option that this command does not have, "" where that is not known.

    Args:
        option: Without its value.
        near: Options of the command that may be like it.
    """
    arguments = sys.argv[1:]
    if option == "--dry-run" and "run" in arguments:
        return (
            f"run has no --dry-run: what it would do is shown, and nothing written, by "
            f"{program_name()} plan SWEEP."
        )
    if arguments[:1] == ["run"] and option in _OF_SUBMIT:
        return f"run trains on this machine. To submit the sweep: {_submit_command(arguments[1:])}."
    if {"submit", "slurm"} <= {*" ".join(arguments).replace("=", " ").split()}:
        meant = _OF_SBATCH.get(option) or next(iter(get_close_matches(option, near, 1, _LIKE)), "")
        ours = f". Did you mean {meant}? Give" if meant else ": give"
        return (
            f"capsweep has no option {option}{ours} an option of sbatch after --, as in "
            f"-- {_with_value(option, arguments)}."
        )
    return ""


def stray_settings() -> str:
    """Return how the settings among the words of this command are given; "" if there are none."""
    words = zip(["", *sys.argv], sys.argv, strict=False)
    settings = [
        word for before, word in words if _SETTING.fullmatch(word) and not before.startswith("-")
    ]
    if not settings:
        return ""
    given = shlex.join(word for setting in settings for word in ("--set", setting))
    return f"A setting is given with --set: {one_line(given)}."


def _submit_command(arguments: Sequence[str]) -> str:
    """Return the command that submits what these words of `run` should."""
    names = {word.partition("=")[0] for word in arguments}
    more = [] if names & {"--to", "--on"} else ["--to", "slurm"]
    is_slurm = "slurm" in " ".join([*arguments, *more]).replace("=", " ").split()
    more += ["--time", "2h"] if is_slurm and "--time" not in names else []
    return shlex.join([program_name(), "submit", *map(public, arguments), *more])


def _with_value(option: str, arguments: Sequence[str]) -> str:
    """Return an option of sbatch with the value that follows it on a command line."""
    for word, value in zip(arguments, [*arguments[1:], "-"], strict=True):
        if word.startswith(f"{option}="):
            return word
        if word == option and not value.startswith("-") and arguments.index(word) > 1:
            return f"{option}={value}" if option.startswith("--") else f"{option} {value}"
    return option


def launch_command() -> str:
    """Return the command that launches what this one plans, without its seeds and its name."""
    arguments, is_value = ["run"], False
    for word in (public(word) for word in sys.argv[sys.argv.index("plan") + 1 :]):
        option = word.partition("=")[0]
        if not is_value and option not in _OF_PLANNED_SEEDS:
            arguments.append(word)
        is_value = not is_value and word in _OF_PLANNED_SEEDS
    return shlex.join([program_name(), *arguments])


def places_given(context: Context) -> dict[str, str]:
    """Return which places of the records a command was given by its options: option -> value.

    What `submit` is given is a place elsewhere, where the commands that follow find it.
    """
    if context.info_name == "submit" or is_submitted() or PLAIN_VARIABLE in os.environ:
        return {}
    sources = {name: context.get_parameter_source(name) for name in WITHOUT_PLACE}
    return {
        name: public(str(context.params[name]))
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    }


def suggested(command: SuggestedCommand, places: Mapping[str, str]) -> str:
    """Return a suggested command as it is typed here, with those places that it takes."""
    words = [program_name(), command.verb, *command.arguments]
    for name, value in places.items():
        if command.verb not in WITHOUT_PLACE[name]:
            words += [f"--{name.replace('_', '-')}", value]
    return shlex.join(words)
