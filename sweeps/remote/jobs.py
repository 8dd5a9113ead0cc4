"""Ray's jobs, as the agent submits, follows and lists them. The only file here that imports ray."""

import asyncio
import os
import shlex
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from capsmodel.launch_folder import SENT_SWEEP
from sweeps.execution.view.live_view import VIEW_VARIABLE
from sweeps.records.errors import BadInput
from sweeps.records.launch_command import RESUME_VARIABLE
from sweeps.records.plain_text import one_line, shortened
from sweeps.records.suggested_command import PLAIN_VARIABLE
from sweeps.remote.messages import (
    CommandEnded,
    FollowJob,
    Frame,
    GetNodes,
    JobState,
    Node,
    Nodes,
    RunJob,
    Send,
    StopJob,
    SubmitSweep,
    Submitted,
    Text,
)
from sweeps.remote.node import write_files
from sweeps.remote.services import is_open
from sweeps.storage.folder import Folder

_POLL_SECONDS = 0.5
_LONGEST_MESSAGE = 1_000  # Ray's ends in what the job has printed
_SWEEP, _WORDS = "capsweep_sweep", "capsweep_words"  # in a job's metadata
_TERMINAL = {"STOPPED", "SUCCEEDED", "FAILED"}
_UNKNOWN = JobState(status="UNKNOWN")


def nodes(request: GetNodes, _send: Send) -> Nodes:
    """Return the machines that Ray's head knows.

    Raises:
        BadInput: If it does not answer.
    """
    if request.down and not is_open(request.dashboard):
        raise BadInput(request.down)
    with _client(request.dashboard):
        from ray.util.state import list_nodes

        listed: Any = list_nodes(request.dashboard, limit=10_000, raise_on_missing_output=False)
    return Nodes(nodes=tuple(map(_node, listed)))


def _node(state: Any) -> Node:
    has = state.resources_total or {}
    return Node(
        address=state.node_ip,
        is_alive=state.state == "ALIVE",
        is_head=bool(state.is_head_node),
        cpus=has.get("CPU", 0.0),
        gpus=has.get("GPU", 0.0),
    )


def submit(request: SubmitSweep, _send: Send) -> Submitted:
    """Submit `capsweep run` of a sweep, unless a job of that sweep runs.

    Raises:
        BadInput: If the cluster does not take it.
    """
    with _client(request.dashboard) as client:
        jobs = [job for job in client.list_jobs() if _metadata(job).get(_SWEEP) == request.sweep]
        for job in jobs:
            if job.status.value not in _TERMINAL:
                arguments = tuple(shlex.split(_metadata(job).get(_WORDS, "")))
                return Submitted(job_id=job.submission_id, arguments=arguments)
        ids = {job.submission_id for job in jobs}
        number = next(n for n in range(1, len(ids) + 2) if f"{request.sweep}-{n}" not in ids)
        job_id = _submit(
            client,
            launch_line(request),
            request.files,
            submission_id=f"{request.sweep}-{number}",
            metadata={_SWEEP: request.sweep, _WORDS: shlex.join(request.arguments)},
        )
    return Submitted(job_id=job_id, is_new=True, arguments=request.arguments)


def launch_line(request: SubmitSweep) -> str:
    """Return the command line of a launch, in which no word of the user's is read by the shell.

    Its reports go below the storage folder, as Ray deletes the folder in which it runs a job.
    """
    sweep, *options = request.arguments
    if sweep in request.files:
        sweep = f"./{sweep}"
    folder = shlex.quote(request.storage) if request.storage else '"$CAPSWEEP_STORAGE"'
    view = f"{VIEW_VARIABLE}={folder}/logs/{shlex.quote(request.sweep)}.view"
    resume = f"{RESUME_VARIABLE}={shlex.quote(request.resume)}"
    run = ["exec", "capsweep", "run", sweep, "--address", "auto", *options, "--reports"]
    return f"mkdir -p {folder}/logs && export {view} {resume} && {shlex.join(run)} {folder}/reports"


def run_job(request: RunJob, send: Send) -> CommandEnded:
    """Run capsweep as a job and send what it prints."""
    with _client(request.dashboard) as client:
        variables = f"{PLAIN_VARIABLE}=1 {SENT_SWEEP}=1"
        variables += f" COLUMNS={request.columns}" if request.columns else ""
        line = f"{variables} exec capsweep {shlex.join(request.arguments)}"
        job_id = _submit(client, line, request.files)
        state = asyncio.run(_followed(client, FollowJob(dashboard="", job_id=job_id), send, None))
        with suppress(RuntimeError):
            client.delete_job(job_id)
    if state.exit_code is None:
        raise BadInput(
            f"The cluster did not run 'capsweep {request.arguments[0]}': {state.message}"
        )
    return CommandEnded(exit_code=state.exit_code)


def stop_job(request: StopJob, _send: Send) -> JobState:
    """End a job as Ray does."""
    with _client(request.dashboard) as client:
        client.stop_job(request.job_id)
        return _state(client, request.job_id)


def follow(request: FollowJob, send: Send) -> JobState:
    """Send what a job prints, until it ends or what there is now."""
    storage = os.environ.get("CAPSWEEP_STORAGE")
    view = (
        (Folder(Path(storage), "logs"), f"{request.sweep}.view")
        if storage and request.sweep
        else None
    )
    with _client(request.dashboard) as client:
        try:
            if request.is_followed:
                return asyncio.run(_followed(client, request, send, view))
            send(Text(text=client.get_job_logs(request.job_id)[request.position :]))
            return _state(client, request.job_id)
        except RuntimeError as error:
            if "404" in str(error) or "does not exist" in str(error):
                return _UNKNOWN
            raise


async def _followed(
    client: Any, request: FollowJob, send: Send, view: tuple[Folder, str] | None
) -> JobState:
    position = 0
    frames = asyncio.create_task(_send_frames(*view, send)) if view else None
    try:
        async for text in client.tail_job_logs(request.job_id):
            if new := text[max(0, request.position - position) :]:
                send(Text(text=new))
            position += len(text)
    finally:
        if frames:
            frames.cancel()
    return _state(client, request.job_id)


async def _send_frames(logs: Folder, view: str, send: Send) -> None:
    """Send the live view whenever it has changed."""
    text = b""
    while True:
        with suppress(OSError, BadInput):
            if (now := logs.read(view)) != text:
                text = now
                send(Frame(text=text.decode(errors="replace")))
        await asyncio.sleep(_POLL_SECONDS)


def _state(client: Any, job_id: str) -> JobState:
    info = client.get_job_info(job_id)
    code, message = info.driver_exit_code, shortened(info.message or "", _LONGEST_MESSAGE)
    return JobState(status=info.status.value, message=message, exit_code=code)


def _submit(client: Any, line: str, files: Mapping[str, str], **options: Any) -> str:
    """Submit a job that runs in a folder with some files, and has no other."""
    if not files:
        return client.submit_job(entrypoint=line, **options)
    with tempfile.TemporaryDirectory(prefix="capsweep-") as folder:
        write_files(Folder(Path(folder)), files)
        environment = {"working_dir": folder}
        return client.submit_job(entrypoint=line, runtime_env=environment, **options)


def _metadata(job: Any) -> Mapping[str, str]:
    return job.metadata or {}


@contextmanager
def _client(dashboard: str) -> Generator[Any]:
    """Yield Ray's client of jobs; the token travels in a header.

    Raises:
        BadInput: If the cluster does not answer, refuses the token, or fails.
    """
    os.environ["RAY_AUTH_MODE"] = "token"  # which ray reads when it is imported
    for variable in ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS"):  # which the client would prefer
        os.environ.pop(variable, None)
    from ray.exceptions import AuthenticationError
    from ray.job_submission import JobSubmissionClient

    try:
        yield JobSubmissionClient(dashboard)
    except AuthenticationError as error:
        raise BadInput(
            f"There is no token for the cluster at {dashboard}, or it is refused: give its own in "
            f"RAY_AUTH_TOKEN or ~/.ray/auth_token."
        ) from error
    except ConnectionError as error:
        raise BadInput(
            f"Ray's dashboard at {dashboard} does not answer: start the cluster, or submit again "
            f"once it runs."
        ) from error
    except (RuntimeError, OSError, ValueError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise BadInput(
            f"Ray's dashboard at {dashboard} has failed: {one_line(lines[0])[:300]}. Is its "
            f"release the one that is installed here?"
        ) from error
