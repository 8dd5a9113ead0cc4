"""Jobs of Slurm, as the agent on a login node submits, follows and ends them.

The folder STORAGE/slurm/SWEEP holds all of a sweep's jobs: `job.sbatch`, the sweep's own file, what
the jobs print in `job.out`, the number of the last one in `job`, and its exit code in `exit`.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel

from capsmodel.spelling import hint
from sweeps.execution.view.live_view import VIEW_VARIABLE
from sweeps.records.errors import BadInput
from sweeps.records.launch_command import RESUME_VARIABLE
from sweeps.records.plain_text import one_line
from sweeps.remote.messages import (
    FollowSlurmJob,
    Frame,
    GetSlurm,
    JobState,
    SlurmFacts,
    SlurmJob,
    StopSlurmJob,
    Submitted,
    SubmitToSlurm,
    Text,
    slurm_seconds,
)
from sweeps.remote.node import write_files
from sweeps.storage.locations import resolve_storage

_POLL_SECONDS = 0.5
_STATE_SECONDS = 5.0  # between two questions to Slurm's controller, which all users share
_ANSWER_SECONDS = 60.0
_WAITING = {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"}
_AT_WORK = {"RUNNING", "COMPLETING", "STAGE_OUT", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING"}
_VARIABLES = ("CAPSWEEP_DATA", "CAPSWEEP_TRACKING_URI")  # which the job has like this shell
_Say = Callable[[BaseModel], None]


def look(request: GetSlurm, _say: _Say) -> SlurmFacts:
    """Return where jobs of Slurm would work.

    Raises:
        BadInput: If there is no Slurm, it does not answer, or has no such partition.
    """
    if not shutil.which("sbatch"):
        raise BadInput(
            f"There is no sbatch on {os.uname().nodename}: give the command on a login node of "
            f"Slurm, or name one with --on."
        )
    if request.job:
        _check_partition(request.job)
    return SlurmFacts(storage=str(resolve_storage(request.storage).root))


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
                f"Partition '{name}' takes jobs of at most {limit / 60:.0f} minutes, and --time "
                f"asks for {job.seconds / 60:.0f}: give a shorter one, or another --partition."
            )


def submit(request: SubmitToSlurm, _say: _Say) -> Submitted:
    """Write the job of a sweep and submit it, unless a job of that sweep is queued or runs.

    Raises:
        BadInput: If Slurm does not take it, or the storage folder cannot be written to.
    """
    folder = _folder(request.storage, request.sweep)
    words = shlex.join(request.words)
    if (state := _queued(folder)) and not state.has_ended:
        noted = tuple(shlex.split((folder / "words").read_text()))
        return Submitted(job_id=_job_id(folder), words=noted)
    text = job_file(request)
    with tempfile.NamedTemporaryFile("w", prefix="capsweep-", suffix=".sbatch") as file:
        file.write(text)
        file.flush()
        _slurm("sbatch", "--test-only", file.name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        Path(request.storage, "logs").mkdir(exist_ok=True)
        write_files(folder, request.files)
        for name in ("job.out", "exit"):
            (folder / name).unlink(missing_ok=True)
        for name, content in (("words", words), ("job.sbatch", text)):
            (folder / name).touch(mode=0o600)  # an address of records may have a password
            (folder / name).write_text(content)
    except OSError as error:
        raise BadInput(
            f"The storage folder {request.storage} cannot be written to on "
            f"{os.uname().nodename} ({error.strerror}): give another --storage."
        ) from error
    (folder / "job").write_text(_slurm("sbatch", "--parsable", str(folder / "job.sbatch")))
    return Submitted(job_id=_job_id(folder), is_new=True, words=request.words)


def job_file(request: SubmitToSlurm) -> str:
    """Return the file that sbatch takes: what this sweep asks for, then what all have in common."""
    folder = _folder(request.storage, request.sweep)
    which, *options = request.words
    storage = Path(request.storage)
    run = [f"./{which}" if which in request.files else which, f"--storage={storage}"]
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
        *[f"--gpus-per-node={job.gpus_per_node}"] * bool(job.gpus_per_node),
        f"--time={days}-{rest // 60:02}:{rest % 60:02}:00",
        *[f"--partition={job.partition}"] * bool(job.partition),
        f"--signal=B:USR1@{before_end}",
        "--requeue",
        "--open-mode=append",
        f"--output={shlex.quote(str(folder / 'job.out'))}",
        *job.options,
    )


def follow(request: FollowSlurmJob, say: _Say) -> JobState:
    """Send what the jobs of a sweep print, until the last has ended or what there is now."""
    folder = _folder(request.storage, request.sweep)
    view = Path(request.storage, "logs", f"{request.sweep}.view")
    position, changed_at, waiting = request.position, 0.0, ""
    state, asked_at = _state(folder), time.monotonic()
    while True:
        with suppress(OSError):
            text = (folder / "job.out").read_text(encoding="utf-8", errors="replace")
            if new := text[position:]:
                say(Text(text=new))
                position = len(text)
        if state.has_ended or not request.is_followed:
            return state
        with suppress(OSError):
            if state.status == "RUNNING" and view.stat().st_mtime != changed_at:
                changed_at = view.stat().st_mtime
                say(Frame(text=view.read_text(encoding="utf-8")))
        if state.status == "PENDING" and state.message != waiting:
            waiting = state.message
            say(Text(text=f"{waiting}\n", is_note=True))
        time.sleep(_POLL_SECONDS)
        if time.monotonic() - asked_at > _STATE_SECONDS:  # what the job prints is read after that
            state, asked_at = _state(folder), time.monotonic()


def stop(request: StopSlurmJob, _say: _Say) -> JobState:
    """End the job of a sweep: one that waits at once, one that runs as Ctrl-C does."""
    folder = _folder(request.storage, request.sweep)
    state = _state(folder)
    if not state.has_ended:
        gently = ["--batch", "--signal=INT"] if state.status == "RUNNING" else []
        _slurm("scancel", *([] if request.is_now else gently), _job_id(folder))
    return _state(folder)


def _state(folder: Path) -> JobState:
    """Return the state of a sweep's last job."""
    if state := _queued(folder):
        return state
    try:
        code = int((folder / "exit").read_text())
    except (OSError, ValueError):
        code = None
    if code is not None:
        return JobState(status="FAILED" if code else "SUCCEEDED", exit_code=code)
    if not _job_id(folder):
        return JobState(status="UNKNOWN")
    if not (folder / "job.out").exists():
        why = f"It has printed nothing: do the nodes see {folder.parents[1]}?"
        return JobState(status="FAILED", message=f"Slurm has ended job {_job_id(folder)}. {why}")
    return JobState(status="STOPPED", message=f"Slurm has ended job {_job_id(folder)}.")


def _queued(folder: Path) -> JobState | None:
    """Return the state of a job that Slurm still has, None if it has none or it has ended."""
    if not (job_id := _job_id(folder)):
        return None
    try:
        listed = _slurm("squeue", "--noheader", f"--jobs={job_id}", "--format=%T|%r|%S")
    except BadInput as error:
        if "Invalid job id" in str(error):
            return None
        raise
    status, reason, start = (*listed.strip().split("|"), "", "")[:3]
    if status in _WAITING:
        when = "" if start in {"", "N/A"} else f", starts about {start.replace('T', ' ')}"
        message = f"Job {job_id} is waiting in Slurm's queue: {reason}{when}."
        return JobState(status="PENDING", message=message)
    return JobState(status="RUNNING") if status in _AT_WORK else None


def _job_id(folder: Path) -> str:
    """Return the number of a sweep's last job, "" if there was none.

    sbatch writes the name of a cluster behind it where there are several.
    """
    try:
        return (folder / "job").read_text().strip().partition(";")[0]
    except OSError:
        return ""


def _folder(storage: str, sweep: str) -> Path:
    return Path(storage, "slurm", sweep)


def _slurm(*words: str) -> str:
    """Return what a command of Slurm prints.

    Raises:
        BadInput: With its own sentence, if it fails.
    """
    try:
        ended = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_ANSWER_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BadInput(
            f"Slurm's controller has not answered {words[0]} in {_ANSWER_SECONDS:.0f} s: try again "
            f"later."
        ) from None
    if ended.returncode:
        lines = ended.stderr.replace(f"{words[0]}: ", "").replace("error: ", "").splitlines()
        reason = one_line("; ".join(filter(None, lines)))[:300] or "it has said nothing"
        raise BadInput(f"{words[0]} was refused: {reason.rstrip('.')}.")
    return ended.stdout
