"""What a command asks of the agent on a machine, and what the agent answers: a line of JSON each.

A connection has one request. The agent answers with any number of `Text`, `Frame` and `Pulse`,
and then with `Answer` or `Failed`.
"""

import re
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from sweeps.execution.channel import Message, Pulse
from sweeps.records.plain_text import counted, duration_text


class _Request(Message):
    """A request.

    Attributes:
        release: The release of capsweep that asks.
    """

    release: str = version("capsweep")


class GetFacts(_Request):
    """What the machine is and has. Answer: `Facts`."""

    call: Literal["facts"] = "facts"


class _Command(_Request):
    """Run capsweep there; its output comes as `Text`. Answer: `CommandEnded`.

    Attributes:
        arguments: After `capsweep`.
        files: Name -> text of files in the folder in which it runs.
        columns: Width of its output; None for its own.
    """

    arguments: tuple[str, ...]
    files: Mapping[str, str] = {}
    columns: int | None = None


class RunCommand(_Command):
    """Run a command in the agent."""

    call: Literal["run"] = "run"


class PrepareData(_Request):
    """Download the data of a sweep unless the machine has them. Answer: `DataReady`.

    Attributes:
        sweep: Its name, or the name of its file.
        files: As of `RunCommand`.
        settings: Path -> value that the launch changes.
    """

    call: Literal["prepare_data"] = "prepare_data"
    sweep: str
    files: Mapping[str, str] = {}
    settings: Mapping[str, Any] = {}


class GetRunning(_Request):
    """Whether a launch of a sweep runs on the machine. Answer: `Running`."""

    call: Literal["running"] = "running"
    sweep: str
    storage: str | None = None


class _Submission(_Request):
    """Submit `capsweep run` as a job, unless one for the sweep is running. Answer: `Submitted`.

    Attributes:
        sweep: Name of the sweep.
        arguments: After `capsweep run`.
        resume: The command that submits it again, which a launch that ends early shows.
        files: As of `RunCommand`.
    """

    sweep: str
    arguments: tuple[str, ...]
    resume: str
    files: Mapping[str, str] = {}


class SubmitSweep(_Submission):
    """Submit a sweep to Ray or Kubernetes.

    Attributes:
        dashboard: Address of Ray's dashboard, as the agent reaches it.
        storage: The storage folder; None for that of the machine.
    """

    call: Literal["submit"] = "submit"
    dashboard: str
    storage: str | None = None


class RunJob(_Command):
    """Run a command as a job of Ray, where there is no ssh."""

    call: Literal["run_job"] = "run_job"
    dashboard: str


class StopJob(_Request):
    """End a job whose launch has not begun. Answer: `JobState`."""

    call: Literal["stop_job"] = "stop_job"
    dashboard: str
    job_id: str


class _Follow(_Request):
    """Send a job's output as `Text`, and its live view as `Frame`. Answer: `JobState`.

    Attributes:
        position: How many characters of the output are known.
        is_followed: Until it ends; else what there is now.
    """

    position: int = 0
    is_followed: bool = True


class FollowJob(_Follow):
    """Follow a job of Ray.

    Attributes:
        sweep: Whose live view is sent; "" for none.
    """

    call: Literal["follow"] = "follow"
    dashboard: str
    job_id: str
    sweep: str = ""


class _Start(_Request):
    """Start Ray on a machine. Answer: `ServicesStarted`.

    Attributes:
        storage: The storage folder.
        data: The folder of data sets.
        mlflow_port: Of the server on the head.
        cpus: Cores for trials, None for all.
        gpus: GPUs likewise.
    """

    storage: str
    data: str
    mlflow_port: int
    cpus: int | None = None
    gpus: int | None = None


class StartHead(_Start):
    """Start Ray's head and MLflow's server, each unless it runs."""

    call: Literal["start_head"] = "start_head"
    ray_port: int
    dashboard_port: int


class StartWorker(_Start):
    """Have the machine join a head, after ending what is left of an earlier one.

    Attributes:
        head: Address and port of Ray's head.
        token: The cluster's token.
    """

    call: Literal["start_worker"] = "start_worker"
    head: str
    token: str = Field(repr=False)


class GetNodes(_Request):
    """The machines that Ray's head knows. Answer: `Nodes`.

    Attributes:
        down: The error if nothing listens there; "" for a sentence with the address.
    """

    call: Literal["nodes"] = "nodes"
    dashboard: str
    down: str = ""


class StopServices(_Request):
    """End what the agent has started on the machine for one cluster. Answer: `ServicesEnded`.

    Attributes:
        ports: Those of Ray's head and of MLflow's server, by which its processes are known.
    """

    call: Literal["stop"] = "stop"
    ports: tuple[int, ...]


class HoldLock(_Request):
    """Write a file into the storage folder and lock it until the connection ends.

    A `Text` says that it is locked.
    """

    call: Literal["hold_lock"] = "hold_lock"
    storage: str
    name: str


class Probe(_Request):
    """Check what a machine shares with the head. Answer: `Probed`.

    Attributes:
        storage: The storage folder.
        data: The folder of data sets.
        name: Of the file that the head has locked; None on the head itself.
        mlflow_port: Of the server, None on a worker.
    """

    call: Literal["probe"] = "probe"
    storage: str
    data: str
    name: str | None = None
    mlflow_port: int | None = None


_SLURM_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d\d))?(?::(\d\d))?")
"""D-HH, D-HH:MM, D-HH:MM:SS, HH:MM:SS, MM:SS or MM."""


def slurm_seconds(text: str) -> float | None:
    """Parse a time of Slurm to seconds; None if it is not one."""
    if not (match := _SLURM_TIME.fullmatch(text.strip())):
        return None
    days, first, second, third = match.groups()
    if days is not None:
        parts = (days, first, second, third)
    elif third is not None:
        parts = (0, first, second, third)
    else:
        parts = (0, 0, first, second)
    units = (86400, 3600, 60, 1)
    return float(sum(unit * int(part or 0) for unit, part in zip(units, parts, strict=True)))


def time_text(seconds: float) -> str:
    """Format a time as `--time` takes it: 2h, 90m."""
    minutes = seconds / 60
    return f"{minutes / 60:g}h" if minutes % 60 == 0 else f"{minutes:g}m"


class NodeJob(Message):
    """What a job asks of nodes of its own; the options of the command line are made from it.

    A node of Kubernetes is a pod for trials here.
    """

    nodes: Annotated[int, Field(ge=1)] = Field(
        default=1, description="Slurm, k8s: number of nodes; of pods, at most."
    )
    gpus_per_node: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Slurm, k8s: GPUs of each node; Slurm: with their type, a100:1."
    )
    cpus_per_node: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="Slurm, k8s: cores of each node [default: 4 for each GPU, or 4; under Slurm no "
        "more than the nodes have].",
    )

    @property
    def cores(self) -> int:
        """Cores of each node."""
        return self.cpus_per_node or 4 * max(1, self.gpus_per_node)

    @property
    def gpus_asked(self) -> str:
        """`--gpus-per-node`, as it is typed."""
        return str(self.gpus_per_node)

    @property
    def node_text(self) -> str:
        """What each node has."""
        gpus = f" and {counted(self.gpus_per_node, 'GPU')}" if self.gpus_per_node else ""
        return counted(self.cores, "core") + gpus

    @property
    def memory_gib(self) -> int:
        """Memory of each pod in GiB."""
        return 4 * self.cores


class SlurmJob(NodeJob):
    """What a job asks of Slurm.

    Attributes:
        gpu_type: Which GPUs, by Slurm's name of them; "" for any.
        options: More lines for `#SBATCH`, as sbatch takes them.
    """

    seconds: Annotated[float, Field(ge=300)] = Field(
        description="Slurm: time of a job, 5m or more: 4h, 90m, 04:00:00, 1-12:00:00, or a number "
        "of minutes."
    )
    partition: str | None = Field(
        default=None, description="Slurm: partition [default: Slurm's own]."
    )
    attempts: Annotated[int, Field(ge=1)] = Field(
        default=10,
        description="Slurm: how often a job is started at most while trials are missing.",
    )
    gpu_type: str = ""
    options: tuple[str, ...] = ()

    @property
    def gpus_asked(self) -> str:
        """`--gpus-per-node`, as it is typed and as sbatch takes it."""
        return f"{self.gpu_type}:{self.gpus_per_node}".removeprefix(":")

    @property
    def type_text(self) -> str:
        """Behind a number of GPUs: which ones."""
        return f" of type {self.gpu_type}" if self.gpu_type else ""

    @property
    def text(self) -> str:
        """What it asks for."""
        nodes = counted(self.nodes, "node")
        each = f"{self.node_text}{self.type_text}{' each' * (self.nodes > 1)}"
        return f"{nodes} with {each}, {duration_text(self.seconds)}"


class GetSlurm(_Request):
    """Whether jobs can be submitted to Slurm there. Answer: `SlurmFacts`.

    Attributes:
        storage: The storage folder; None for that of the machine.
        job: What a job will ask for, None where none is submitted.
    """

    call: Literal["slurm"] = "slurm"
    storage: str | None = None
    job: SlurmJob | None = None


class SlurmSubmission(_Submission):
    """The job of a sweep for Slurm.

    Attributes:
        storage: The storage folder, absolute.
        job: What the job asks for.
    """

    storage: str
    job: SlurmJob


class SubmitToSlurm(SlurmSubmission):
    """Submit a sweep to Slurm."""

    call: Literal["submit_to_slurm"] = "submit_to_slurm"


class TryOnSlurm(SlurmSubmission):
    """Let Slurm check the job of a sweep, and write nothing. Answer: `JobFile`."""

    call: Literal["try_on_slurm"] = "try_on_slurm"


class FollowSlurmJob(_Follow):
    """Follow the job of a sweep.

    Attributes:
        storage: The storage folder, absolute.
    """

    call: Literal["follow_slurm_job"] = "follow_slurm_job"
    sweep: str
    storage: str


class StopSlurmJob(_Request):
    """End the job of a sweep. Answer: `JobState`.

    Attributes:
        sweep: Name of the sweep.
        storage: The storage folder, absolute.
        is_now: Whether running trials are ended at once.
    """

    call: Literal["stop_slurm_job"] = "stop_slurm_job"
    sweep: str
    storage: str
    is_now: bool = False


class GetFiles(_Request):
    """The files of a folder in the storage folder, without its subfolders. Answer: `Files`.

    Attributes:
        storage: The storage folder, absolute.
        names: Of the folders that lead to it.
        files: Names of the files that are wanted; None for all.
    """

    call: Literal["files"] = "files"
    storage: str
    names: tuple[str, ...]
    files: tuple[str, ...] | None = None


RequestOfAny = (
    GetFacts
    | RunCommand
    | SubmitSweep
    | PrepareData
    | GetRunning
    | RunJob
    | StopJob
    | FollowJob
    | StartHead
    | StartWorker
    | GetNodes
    | StopServices
    | HoldLock
    | Probe
    | GetSlurm
    | SubmitToSlurm
    | TryOnSlurm
    | FollowSlurmJob
    | StopSlurmJob
    | GetFiles
)
REQUEST: TypeAdapter[RequestOfAny] = TypeAdapter(
    Annotated[RequestOfAny, Field(discriminator="call")]
)


class Text(Message):
    """Something to print.

    Attributes:
        is_note: Whether it is the agent's own, and no job has printed it.
    """

    type: Literal["text"] = "text"
    text: str
    is_note: bool = False


class Frame(Message):
    """The live view of a launch as it is now."""

    type: Literal["frame"] = "frame"
    text: str


class Answer(Message):
    """The end: what was asked for."""

    type: Literal["answer"] = "answer"
    value: dict[str, Any]


class Failed(Message):
    """The end: it cannot be done, for the reason in the sentence."""

    type: Literal["failed"] = "failed"
    sentence: str


Reply = Text | Frame | Pulse | Answer | Failed
Send = Callable[[Message], None]
"""Sends a reply to the command that asks."""
REPLY: TypeAdapter[Reply] = TypeAdapter(Annotated[Reply, Field(discriminator="type")])


class Facts(Message):
    """What a machine is and has.

    Attributes:
        address: Under which other machines of the cluster reach it.
        gpus: As torch sees them.
        token: The token of its clusters, "" if it has none.
        token_mode: Permissions of the token's file, None where there is none.
        storage: The storage folder that its shells name, None for none.
        tracking_uri: The tracking store likewise.
        data: The folder of data sets likewise.
    """

    host: str
    address: str
    python: str
    ray: str
    torch: str
    cpus: int
    gpus: int
    token: str = Field(default="", repr=False)
    token_mode: int | None = None
    storage: str | None = None
    tracking_uri: str | None = None
    data: str | None = None


class CommandEnded(Message):
    """A command has ended."""

    exit_code: int


class DataReady(Message):
    """The machine has the data."""


class Running(Message):
    """Whether a launch runs."""

    is_running: bool


class JobState(Message):
    """The state of a job.

    Attributes:
        status: Ray's name of it; "UNKNOWN" if Ray has no such job, as after the loss of the head.
        message: Ray's reason, where it has failed.
        exit_code: Of its command, None if that is not known.
    """

    status: str
    message: str = ""
    exit_code: int | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more, and will not."""
        return self.status not in {"PENDING", "RUNNING"}


class Submitted(Message):
    """A job of a sweep.

    Attributes:
        job_id: Ray's id of it.
        is_new: Whether it was submitted by this request.
        arguments: After `capsweep run`, as it was submitted.
    """

    job_id: str
    is_new: bool = False
    arguments: tuple[str, ...] = ()


class JobFile(Message):
    """The file of a job, as it would be submitted."""

    lines: tuple[str, ...]


class ServicesStarted(Message):
    """What was started on a machine.

    Attributes:
        address: As of `Facts`.
        token: The cluster's token, of a head.
        ray: Whether Ray was started now; it ran before otherwise.
        mlflow: The same of MLflow's server.
    """

    address: str
    token: str = Field(default="", repr=False)
    ray: bool
    mlflow: bool = False


class Node(Message):
    """A machine as Ray's head knows it."""

    address: str
    is_alive: bool
    is_head: bool
    cpus: float
    gpus: float


class Nodes(Message):
    """The machines that Ray's head knows, the lost ones too."""

    nodes: tuple[Node, ...]


class ServicesEnded(Message):
    """How many processes were ended."""

    num_processes: int


class Probed(Message):
    """What a machine shares with the head.

    Attributes:
        seen_after_seconds: How long it took until the head's file was seen, None if it was not.
        sees_lock: Whether the head's lock is seen; None if that could not be tried.
        is_writable: Whether the storage folder can be written to.
        clock: Seconds since 1970.
        data: Names in the folder of data sets; None if there is no such folder.
        free_bytes: Free on the disk of the storage folder.
        free_scratch_bytes: Free in the temporary folder.
        mlflow: Whether the server answers; None on a worker.
    """

    seen_after_seconds: float | None = None
    sees_lock: bool | None = None
    is_writable: bool
    clock: float
    data: tuple[str, ...] | None = None
    free_bytes: int
    free_scratch_bytes: int
    mlflow: bool | None = None


class SlurmFacts(Message):
    """Where jobs can be submitted to Slurm.

    Attributes:
        storage: The storage folder there, absolute.
        most_cores: Cores of the largest node that a job may get, None if that is not known.
        most_gpus: GPUs of the node with most of them, 0 if that is not known.
    """

    storage: str
    most_cores: int | None = None
    most_gpus: int = 0


MOST_FILES, MOST_BYTES = 1_000, 96 * 2**20
"""Of a folder that is sent."""


class Files(Message):
    """Files of a folder: name -> content in base64."""

    files: Mapping[str, str]
