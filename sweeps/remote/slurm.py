"""Jobs of Slurm, as the agent on a login node submits, follows and ends them.

The folder STORAGE/slurm/SWEEP holds all of a sweep's jobs: `job.sbatch`, the sweep's own file, what
the jobs print in `job.out`, the number of the last one in `job`, and its exit code in `exit`.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from capsmodel.spelling import hint
from sweeps.execution.view.live_view import VIEW_VARIABLE
from sweeps.records.errors import BadInput
from sweeps.records.launch_command import RESUME_VARIABLE
from sweeps.records.plain_text import counted, duration_text, one_line
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.remote.messages import (
    FollowSlurmJob,
    Frame,
    GetSlurm,
    JobFile,
    JobState,
    Send,
    SlurmFacts,
    SlurmJob,
    SlurmSubmission,
    StopSlurmJob,
    Submitted,
    SubmitToSlurm,
    Text,
    TryOnSlurm,
    slurm_seconds,
    time_text,
)
from sweeps.remote.node import write_files
from sweeps.storage.folder import PRIVATE, Folder
from sweeps.storage.locations import resolve_storage

_POLL_SECONDS = 0.5
_STATE_SECONDS = 5.0  # between two questions to Slurm's controller, which all users share
_ANSWER_SECONDS = 60.0
_WAITING = {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"}
_AT_WORK = {"RUNNING", "COMPLETING", "STAGE_OUT", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING"}
_UP = {"idle", "mixed", "allocated", "completing", "planned", "reserved"}
_OF_NODES = re.compile(r"-[pwxcNCn]\b|--(partition|node|cpus|gpus|gres|constraint|exclude|ntasks)")
_UNREACHED = re.compile(r"Unable to contact slurm controller|configuration source|cannot stat file")
_MOST_PRINTED = 2**30  # by a job, in bytes
_VARIABLES = ("CAPSWEEP_DATA", "CAPSWEEP_TRACKING_URI")  # which the job has like this shell


def facts(request: GetSlurm, _send: Send) -> SlurmFacts:
    """Return where jobs of Slurm would work.

    Raises:
        BadInput: If there is no Slurm, it does not answer, or has no such partition.
    """
    if not shutil.which("sbatch"):
        raise BadInput(
            f"There is no sbatch on {os.uname().nodename}: give the command on a login node of "
            f"Slurm, or name one with --on."
        )
    facts = SlurmFacts(storage=str(resolve_storage(request.storage).root))
    if not request.job:
        return facts
    _check_partition(request.job)
    most = _most_of_nodes(request.job)
    return facts.model_copy(update=most._asdict())


def _check_partition(job: SlurmJob) -> None:
    """Make sure that Slurm has a job's partition and lets the job run so long there.

    Raises:
        BadInput: If it does not: such a job would wait for ever.
    """
    lines = _slurm("sinfo", "--noheader", "--format=%P|%l").splitlines()
    limits = dict(line.strip().split("|") for line in lines if "|" in line)
    default = [name.rstrip("*") for name in limits if name.endswith("*")]
    limits = {name.rstrip("*"): slurm_seconds(limit) for name, limit in limits.items()}
    asked = job.partition.split(",") if job.partition else default
    for name in asked:
        if name not in limits:
            raise BadInput(
                f"Slurm has no partition '{name}'.{hint(name, limits)} It has: "
                f"{', '.join(sorted(limits))}."
            )
        if (limit := limits[name]) and job.seconds > limit:
            raise BadInput(
                f"Partition '{name}' takes jobs of at most {duration_text(limit)}, and --time asks "
                f"for {duration_text(job.seconds)}: give a shorter one, or another --partition."
            )


class _Nodes(NamedTuple):
    """Nodes of a partition that are alike.

    Attributes:
        partition: Name of the partition.
        number: How many there are.
        cores: Cores of each.
        gpus: GPUs of each that Slurm knows, by type; that is "" where it has no name.
        is_up: Whether they take jobs now.
    """

    partition: str
    number: int
    cores: int
    gpus: Mapping[str, int]
    is_up: bool

    def num_gpus(self, gpu_type: str) -> int:
        """Return how many GPUs of a type each has, of any for ""."""
        named = gpu_type.lower()
        return sum(num for name, num in self.gpus.items() if not named or name == named)


class _Most(NamedTuple):
    """The most that nodes for a job have, as in `SlurmFacts`."""

    most_cores: int | None
    most_gpus: int


def _nodes_for(job: SlurmJob) -> list[_Nodes]:
    """Return the nodes on which a job may run, whether or not they take jobs now."""
    groups: list[_Nodes] = []
    for line in _slurm("sinfo", "--noheader", "--exact", "--format=%P|%D|%c|%G|%T").splitlines():
        partition, count, cores, gres, state = line.strip().split("|")
        name = partition.rstrip("*")
        if name in job.partition.split(",") if job.partition else partition.endswith("*"):
            gpus: dict[str, int] = {}
            for kind, num in re.findall(r"\bgpu(?::([^:,(]+))?:(\d+)", gres.lower()):
                gpus[kind] = gpus.get(kind, 0) + int(num)
            is_up = state.rstrip("*~#!%$@^-") in _UP
            groups.append(_Nodes(name, int(count), int(cores.rstrip("+")), gpus, is_up))
    return groups


def _most_of_nodes(job: SlurmJob) -> _Most:
    """Return the most cores and GPUs that a node for a job has.

    Raises:
        BadInput: If no node is such as the job asks for, naming the option that asks for more.
    """
    if any(_OF_NODES.match(option) for option in job.options):
        return _Most(None, 0)  # sbatch alone knows what they ask for together
    nodes = _nodes_for(job)
    where = f"partition '{nodes[0].partition}'" if nodes else "that partition"
    most_gpus = max((group.num_gpus(job.gpu_type) for group in nodes), default=0)
    if job.gpus_per_node > most_gpus:
        raise BadInput(_too_many_gpus(job, nodes, most_gpus, where))
    nodes = [group for group in nodes if group.num_gpus(job.gpu_type) >= job.gpus_per_node]
    most_cores = max((group.cores for group in nodes), default=0)
    if (job.cpus_per_node or 1) > most_cores:
        raise BadInput(
            f"The nodes of {where} have at most {counted(most_cores, 'core')}, and a job asks for "
            f"{job.cores} of each: give --cpus-per-node {most_cores} or less."
        )
    count = sum(group.number for group in nodes if group.cores >= min(job.cores, most_cores))
    if job.nodes > count:
        raise BadInput(
            f"Only {counted(count, 'such node')} of {where}, and --nodes asks for "
            f"{job.nodes}: give a smaller number."
        )
    return _Most(most_cores, most_gpus)


def _too_many_gpus(job: SlurmJob, nodes: Sequence[_Nodes], most_gpus: int, where: str) -> str:
    """Return why nodes have too few GPUs for a job.

    Args:
        job: The job.
        nodes: Those of its partition.
        most_gpus: The most that one of them has of the type.
        where: Name of the partition.
    """
    types = sorted({name for group in nodes for name in group.gpus if name})
    if most_gpus:
        most = f"at most {counted(most_gpus, 'GPU')}{job.type_text}"
        instead = "give a smaller number"
    else:
        most, instead = f"no GPU{job.type_text} that Slurm knows", "leave it out"
        if job.gpu_type and types:
            instead = f"give another type, such as {types[0]}"
    return (
        f"The nodes of {where} have {most}, and --gpus-per-node asks for {job.gpus_asked}: "
        f"{instead}, or name another --partition."
    )


def submit(request: SubmitToSlurm, _send: Send) -> Submitted:
    """Write the job of a sweep and submit it, unless a job of that sweep is queued or runs.

    Raises:
        BadInput: If Slurm does not take it, or the storage folder cannot be written to.
    """
    folder = _folder(request.storage, request.sweep)
    arguments = shlex.join(request.arguments)
    text, is_queued = _checked_file(request)
    if is_queued:
        noted = tuple(shlex.split(_text(folder, "words")))
        return Submitted(job_id=_job_id(folder), arguments=noted)
    try:
        _write_job(folder, arguments, text, request)
    except OSError as error:
        raise BadInput(
            f"The storage folder {request.storage} cannot be written to on "
            f"{os.uname().nodename} ({error.strerror}): give another --storage."
        ) from error
    # by its text: sbatch would open the file by its path
    folder.write("job", _slurm("sbatch", "--parsable", input_text=text).encode())
    return Submitted(job_id=_job_id(folder), is_new=True, arguments=request.arguments)


def dry_run(request: TryOnSlurm, _send: Send) -> JobFile:
    """Return the file of a job that `submit` would submit, and write nothing.

    Raises:
        BadInput: If Slurm does not take it.
    """
    text, _ = _checked_file(request)
    return JobFile(lines=tuple(text.split("\n")))


def _checked_file(request: SlurmSubmission) -> tuple[str, bool]:
    """Return the file of a job that Slurm takes, and whether that job waits or runs already.

    Raises:
        BadInput: If Slurm does not take it, or the sweep's job asks for something else.
    """
    folder, text = _folder(request.storage, request.sweep), job_file(request)
    if (state := _queued(folder)) and not state.has_ended:
        _check_same_job(folder, text, request)
        return text, True
    _test(text, request.job)
    return text, False


def _write_job(folder: Folder, arguments: str, text: str, request: SubmitToSlurm) -> None:
    """Write what a job reads, and make the file into which Slurm writes what it prints.

    Raises:
        BadInput: If there is a link in a place of one, or others may write to the folder.
        OSError: If the disk fails.
    """
    Folder(Path(request.storage), "logs").make()
    Folder(Path(request.storage), "slurm").make()  # which others may add theirs to
    folder.make(0o755).check_closed()
    folder.check_own()  # the job runs what lies in it
    write_files(folder, request.files)
    for name in ("job.out", "exit"):
        folder.remove(name)
    os.close(folder.append("job.out"))
    for name, content in (("words", arguments), ("job.sbatch", text)):
        folder.write(name, content.encode(), PRIVATE)  # an address of records may have a password


def _check_same_job(folder: Folder, text: str, request: SlurmSubmission) -> None:
    """Make sure that a job asks of Slurm what the one does that waits or runs.

    Raises:
        BadInput: If it asks for something else, which would have no effect.
    """
    queued, wanted = (_options_in(file) for file in (_text(folder, "job.sbatch"), text))
    if queued == wanted:
        return
    differences = (queued - wanted, wanted - queued)
    has, asks = (_as_typed(options) or "no such option" for options in differences)
    raise BadInput(
        f"'{request.sweep}' is there already as job {_job_id(folder)}, with {has}, and this asks "
        f"for {asks}: give the same options, or stop it first "
        f"({SuggestedCommand('stop', request.sweep)})."
    )


def _options_in(text: str) -> set[str]:
    """Return the options of sbatch in a job's file."""
    lines = text.splitlines()
    return {line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH ")}


def _as_typed(options: set[str]) -> str:
    """Return options of sbatch as the user gave them, without those that follow from others."""
    has_gpus = any(option.startswith("--gpus-per-node=") for option in options)
    typed: list[str] = []
    for option in sorted(options):
        name, _, value = option.partition("=")
        if name == "--time":
            typed.append(f"--time {time_text(slurm_seconds(value) or 0)}")
        elif name == "--cpus-per-task" and not has_gpus:
            typed.append(f"--cpus-per-node {value}")
        elif name in {"--nodes", "--gpus-per-node", "--partition"}:
            typed.append(f"{name} {value}")
        elif name != "--cpus-per-task" and not option.startswith("--signal=B:USR1@"):
            typed.append(option)
    return ", ".join(typed)


def _test(text: str, job: SlurmJob) -> None:
    """Let Slurm check a job's file without submitting it.

    Raises:
        BadInput: If Slurm does not take it. That all nodes are drained is no reason: it then waits.
    """
    try:
        _slurm("sbatch", "--test-only", input_text=text)
    except BadInput as error:
        up = sum(group.number for group in _nodes_for(job) if group.is_up)
        if "node configuration is not available" not in str(error) or up >= job.nodes:
            raise


def job_file(request: SlurmSubmission) -> str:
    """Return the file that sbatch takes: what this sweep asks for, then what all have in common."""
    folder = _folder(request.storage, request.sweep).path
    sweep, *options = request.arguments
    storage = Path(request.storage)
    run = [f"./{sweep}" if sweep in request.files else sweep, f"--storage={storage}"]
    run += [word for word in options if not word.startswith("--storage=")]  # relative, perhaps
    values = {
        VIEW_VARIABLE: str(storage / "logs" / f"{request.sweep}.view"),
        RESUME_VARIABLE: request.resume,
        **{name: os.environ[name] for name in _VARIABLES if name in os.environ},
    }
    lines = [
        "#!/bin/bash",
        f"# {one_line(request.resume)}",
        *(f"#SBATCH {option}" for option in _sbatch_options(request.job, request.sweep, folder)),
        "",
        f"storage={shlex.quote(str(storage))}",
        f"folder={shlex.quote(str(folder))}",
        f"bin={shlex.quote(str(Path(sys.executable).parent))}",
        f"attempts={request.job.attempts}",
        f"run=({shlex.join(run)})",
        *(f"export {name}={shlex.quote(value)}" for name, value in values.items()),
        "",
    ]
    return "\n".join(lines) + files("sweeps.remote").joinpath("slurm_job.sh").read_text("utf-8")


def _sbatch_options(job: SlurmJob, sweep: str, folder: Path) -> Sequence[str]:
    """Return the options of sbatch; those that the user gives come last, and so win."""
    minutes = max(1, round(job.seconds / 60))
    days, rest = divmod(minutes, 24 * 60)
    before_end = min(300, max(60, 3 * minutes))  # 5 % of the time, between 1 and 5 minutes
    return (
        f"--job-name={sweep}",
        f"--nodes={job.nodes}",
        "--ntasks-per-node=1",
        f"--cpus-per-task={job.cores}",
        *[f"--gpus-per-node={job.gpus_asked}"] * bool(job.gpus_per_node),
        f"--time={days}-{rest // 60:02}:{rest % 60:02}:00",
        *[f"--partition={job.partition}"] * bool(job.partition),
        f"--signal=B:USR1@{before_end}",
        "--requeue",
        "--open-mode=append",
        f"--output={shlex.quote(str(folder / 'job.out'))}",
        *job.options,
    )


def follow(request: FollowSlurmJob, send: Send) -> JobState:
    """Send what the jobs of a sweep print, until the last has ended or what there is now."""
    folder = _folder(request.storage, request.sweep)
    logs, shown = Folder(Path(request.storage), "logs"), b""
    position, waiting = request.position, ""
    state, asked_at = _state(folder), time.monotonic()
    while True:
        with suppress(OSError):
            text = _text(folder, "job.out")
            if new := text[position:]:
                send(Text(text=new))
                position = len(text)
        if state.has_ended or not request.is_followed:
            return state
        with suppress(OSError):
            view = logs.read(f"{request.sweep}.view") if state.status == "RUNNING" else shown
            if view != shown:
                shown = view
                send(Frame(text=view.decode(errors="replace")))
        if state.status == "PENDING" and state.message != waiting:
            waiting = state.message
            send(Text(text=f"{waiting}\n", is_note=True))
        time.sleep(_POLL_SECONDS)
        if time.monotonic() - asked_at > _STATE_SECONDS:  # what the job prints is read after that
            state, asked_at = _state(folder), time.monotonic()


def stop(request: StopSlurmJob, _send: Send) -> JobState:
    """End the job of a sweep: one that waits at once, one that runs as Ctrl-C does."""
    folder = _folder(request.storage, request.sweep)
    state = _state(folder)
    if not state.has_ended:
        gently = ["--batch", "--signal=INT"] if state.status == "RUNNING" else []
        _slurm("scancel", *([] if request.is_now else gently), _job_id(folder))
    return _state(folder)


def _state(folder: Folder) -> JobState:
    """Return the state of a sweep's last job."""
    if state := _queued(folder):
        return state
    try:
        code = int(folder.read("exit"))
    except (OSError, ValueError):
        code = None
    if code is not None:
        return JobState(status="FAILED" if code else "SUCCEEDED", exit_code=code)
    if not _job_id(folder):
        return JobState(status="UNKNOWN")
    if not _has_printed(folder):
        message = (
            f"Slurm has ended job {_job_id(folder)} before it printed anything. The nodes may not "
            f"see {folder.path.parents[1]}: give a folder that all of them share, --storage=FOLDER."
        )
        return JobState(status="FAILED", message=message)
    return JobState(status="STOPPED", message=f"Slurm has ended job {_job_id(folder)}.")


def _queued(folder: Folder) -> JobState | None:
    """Return the state of a job in Slurm's queue; None if it is not there, or has ended."""
    if not (job_id := _job_id(folder)):
        return None
    try:
        listed = _slurm("squeue", "--noheader", f"--jobs={job_id}", "--format=%T|%r|%S|%N")
    except BadInput as error:
        if "Invalid job id" in str(error):
            return None
        raise
    status, reason, start, nodes = (*listed.strip().split("|"), "", "", "")[:4]
    if status in _WAITING:
        message = f"Job {job_id} {_waiting_text(job_id, reason, start)}"
        return JobState(status="PENDING", message=message)
    message = f"Job {job_id} runs on {nodes}."
    return JobState(status="RUNNING", message=message) if status in _AT_WORK else None


def _waiting_text(job_id: str, reason: str, start: str) -> str:
    """Return why a job waits.

    Args:
        job_id: Its number.
        reason: As Slurm gives it.
        start: When it is expected to start, as Slurm gives it.
    """
    if "held" in reason.lower():
        return f"is held ({reason}) and does not start by itself: scontrol release {job_id}."
    when = "" if start in {"", "N/A"} else start.replace("T", " ")
    if reason == "BeginTime":
        return f"is queued, and starts by itself after {when}."
    expected = f", expected to start about {when}" if when else ""
    why = "Slurm has not looked at it yet" if reason in {"", "None"} else reason
    return f"is waiting in Slurm's queue: {why}{expected}."


def _job_id(folder: Folder) -> str:
    """Return the number of a sweep's last job, "" if there was none.

    sbatch writes the name of a cluster behind it where there are several.
    """
    try:
        job_id = _text(folder, "job").strip().partition(";")[0]
    except OSError:
        return ""
    return job_id if job_id.isascii() and job_id.isdigit() else ""


def _text(folder: Folder, name: str) -> str:
    return folder.read(name, _MOST_PRINTED).decode(errors="replace")


def _has_printed(folder: Folder) -> bool:
    try:
        return (folder.path / "job.out").lstat().st_size > 0
    except OSError:
        return False


def _folder(storage: str, sweep: str) -> Folder:
    return Folder(Path(storage), "slurm", sweep)


def _slurm(*command: str, input_text: str = "") -> str:
    """Return what a command of Slurm prints.

    Args:
        command: Its words.
        input_text: Its standard input.

    Raises:
        BadInput: With its own sentence, if it fails.
    """
    try:
        ended = subprocess.run(
            command,
            input=input_text,
            capture_output=True,
            text=True,
            timeout=_ANSWER_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BadInput(
            f"Slurm's controller has not answered {command[0]} in {_ANSWER_SECONDS:.0f} s: try "
            f"again later."
        ) from None
    if ended.returncode:
        lines = ended.stderr.replace(f"{command[0]}: ", "").replace("error: ", "").splitlines()
        reason = one_line("; ".join(filter(None, lines)))[:300] or "it has said nothing"
        if _UNREACHED.search(reason):
            raise BadInput(
                f"Slurm cannot be reached from here ({command[0]}: {reason.rstrip('.')}): give the "
                f"command on a login node, or try again later."
            )
        raise BadInput(f"{command[0]} was refused: {reason.rstrip('.')}.")
    return ended.stdout
