"""The options of `capsweep submit --to slurm` and `--to k8s`: what a job asks for."""

import re
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from capsmodel.settings.messages import allowed
from sweeps.cli.arguments import read_duration
from sweeps.cli.declared_options import OptionSyntax
from sweeps.records.errors import BadInput
from sweeps.records.plain_text import counted
from sweeps.remote.messages import NodeJob, SlurmJob, slurm_seconds, time_text

_OURS: Mapping[re.Pattern[str], str] = {  # sbatch's option -> why it is not given to it
    re.compile(rf"{short}--{name}(=|$)"): why
    for short, name, why in (
        ("-t|", "time", "given by --time before --"),
        ("-N|", "nodes", "given by --nodes before --"),
        ("", "gpus-per-node", "given by --gpus-per-node before --"),
        ("-c|", "cpus-per-task", "given by --cpus-per-node before --"),
        ("-p|", "partition", "given by --partition before --"),
        ("-a|", "array", "not possible, as one job runs the whole sweep"),
        ("-o|", "output", "set by capsweep, as status and --follow read what a job prints"),
    )
}
_GPUS = re.compile(r"([A-Za-z0-9_.+-]+):([1-9][0-9]*)")  # type, number
_Job = TypeVar("_Job", bound=NodeJob)


def job_fields() -> dict[str, FieldInfo]:
    """Return the options of a job, name -> declaration."""
    derived = {"options", "gpu_type"}
    fields = {n: copy(field) for n, field in SlurmJob.model_fields.items() if n not in derived}
    fields["seconds"].default = None  # nothing but Slurm needs it
    return fields


def slurm_job(options: Mapping[str, Any], sbatch: Sequence[str]) -> SlurmJob:
    """Return what a job asks for.

    Args:
        options: Options of `job_fields`, name -> value.
        sbatch: Options of sbatch.

    Raises:
        BadInput: If there is no time, or what is given before is given to sbatch as well, or one
            option is not valid.
    """
    if options["seconds"] is None:
        raise BadInput("Slurm needs the time of a job: give --time, such as --time 4h.")
    for word in sbatch:
        for ours, why in _OURS.items():
            if ours.match(word):
                raise BadInput(f"What {word} asks for is {why}: leave it out after --.")
    options = {**options, "options": _lines(sbatch)}
    if typed := _GPUS.fullmatch(str(options["gpus_per_node"])):
        options |= {"gpu_type": typed[1], "gpus_per_node": int(typed[2])}
    return _valid(SlurmJob, options)


def kube_job(options: Mapping[str, Any], sbatch: Sequence[str]) -> NodeJob:
    """Return what a job asks of Kubernetes.

    Args:
        options: Options of `job_fields`, name -> value.
        sbatch: Options of sbatch.

    Raises:
        BadInput: If one is of Slurm alone, or not valid.
    """
    of_nodes = {name: options[name] for name in NodeJob.model_fields}
    refuse_job_options({n: v for n, v in options.items() if n not in of_nodes}, sbatch)
    if typed := _GPUS.fullmatch(gpus := str(options["gpus_per_node"])):
        raise BadInput(
            f"--gpus-per-node {gpus} names a type, which only Slurm takes: give --gpus-per-node "
            f"{typed[2]}."
        )
    return _valid(NodeJob, of_nodes)


def _valid(kind: type[_Job], options: Mapping[str, Any]) -> _Job:
    try:
        return kind(**options)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        name = str(detail["loc"][0])
        if name == "seconds":
            minutes = counted(detail["input"] / 60, "minute")
            raise BadInput(
                f"--time takes at least 5 minutes, got {minutes}: a job starts Ray first, and ends "
                f"a minute before its time is over."
            ) from error
        permitted = allowed(kind.model_fields[name])
        flag = name.replace("_", "-")
        raise BadInput(f"--{flag} must be {permitted}, got {detail['input']!r}.") from error


def job_arguments(job: NodeJob) -> tuple[list[str], list[str]]:
    """Return the command-line arguments that ask for a job: options, and those after `--`."""
    values = job.model_dump(exclude_defaults=True, exclude={"seconds", "options", "gpu_type"})
    if job.gpus_per_node:
        values["gpus_per_node"] = job.gpus_asked
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]
    if not isinstance(job, SlurmJob):
        return flags, []
    last = [word for line in job.options for word in line.split(" ")]
    return [*flags, f"--time={time_text(job.seconds)}"], ["--", *last] if last else []


def refuse_job_options(options: Mapping[str, Any], sbatch: Sequence[str]) -> None:
    """Refuse options of a job where it does not go there.

    Raises:
        BadInput: Naming one.
    """
    fields = job_fields()
    names = [name for name, value in options.items() if value != fields[name].default]
    if not names and not sbatch:
        return
    flags = ["--time" if name == "seconds" else f"--{name.replace('_', '-')}" for name in names]
    refused = flags[0] if flags else "what follows --"
    also, where = ("", "--to slurm")
    if names and names[0] in NodeJob.model_fields:
        also, where = " and Kubernetes", "--to slurm or --to k8s"
    takes = "take" if also else "takes"
    raise BadInput(f"Only Slurm{also} {takes} {refused}: give {where} with it, or leave it out.")


def _gpus(flag: str, text: str | int) -> int | str:
    try:
        return int(text)
    except ValueError:
        if _GPUS.fullmatch(str(text)):
            return text
        raise BadInput(
            f"{flag} takes a number, or under Slurm TYPE:NUMBER such as a100:1, got '{text}'."
        ) from None


def _seconds(flag: str, text: str | None) -> float | None:
    if text is None:
        return None
    if (seconds := slurm_seconds(text)) is not None:
        return seconds
    try:
        return read_duration(flag, text)
    except BadInput as error:
        raise BadInput(
            f"{flag} takes 4h, 1h30m, 04:00:00, 1-12:00:00 or a number of minutes, got '{text}'."
        ) from error


def _lines(sbatch: Sequence[str]) -> tuple[str, ...]:
    """Return one option a line: a word without a dash belongs to the one before it.

    Raises:
        BadInput: If the first is no option, or one would break the line.
    """
    lines: list[str] = []
    for word in sbatch:
        if any(letter in word for letter in "\n\r"):
            raise BadInput("An option of sbatch is one line: give it without line breaks.")
        if word.startswith("-"):
            lines.append(word)
        elif lines:
            lines[-1] += f" {word}"
        else:
            raise BadInput(
                f"'{word}' is one word too many: options of sbatch come after --, such as "
                f"-- --account=lab."
            )
    return tuple(lines)


JOB_SYNTAX: Mapping[str, OptionSyntax] = {
    "seconds": OptionSyntax("--time", annotation=str | None, read=_seconds),
    "gpus_per_node": OptionSyntax(
        "--gpus-per-node", metavar="NUMBER|TYPE:NUMBER", annotation=str, read=_gpus
    ),
}
